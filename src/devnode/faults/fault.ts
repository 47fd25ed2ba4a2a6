import { z } from 'zod';

const positive = z.int().positive();

/** Faults of the connection: the answer does not come as it should. */
const TransportFault = z.discriminatedUnion('kind', [
  /** The answer comes late. */
  z.strictObject({ kind: z.literal('latency'), ms: z.number().nonnegative() }),
  /** 401, as with a wrong password. */
  z.strictObject({ kind: z.literal('unauthorized') }),
  /** 503, as with a full work queue. */
  z.strictObject({ kind: z.literal('work-queue-full') }),
  /** The socket is reset before any answer; the call was carried out, or not. */
  z.strictObject({ kind: z.literal('reset'), carriedOut: z.boolean().default(true) }),
  /** The socket is reset after so many bytes of the body. */
  z.strictObject({ kind: z.literal('truncate'), bytes: z.int().nonnegative() }),
  /** The connection ends cleanly after so many bytes of a body without a length: whole for HTTP, half for JSON. */
  z.strictObject({ kind: z.literal('half-json'), bytes: z.int().nonnegative() }),
  z.strictObject({ kind: z.literal('slow-body'), bytesPerSecond: positive }),
  /** A body of this length that goes on and on. */
  z.strictObject({ kind: z.literal('huge-body'), bytes: positive }),
  /** A proxy's page in place of the node's answer. */
  z.strictObject({ kind: z.literal('html'), status: z.int().min(200).max(599).default(200) }),
  /** 200 and nothing. */
  z.strictObject({ kind: z.literal('empty-body') }),
  /** Several calls in one request are refused, as some nodes do it, and some proxies; a call alone goes well. */
  z.strictObject({
    kind: z.literal('no-batches'),
    how: z.enum(['invalid-request', 'too-large', 'empty-list', 'closed']),
  }),
]);

/** Faults of one answer inside: the JSON is fine, what it says is not. */
const AnswerFault = z.discriminatedUnion('kind', [
  /** -28, as while the node loads. */
  z.strictObject({ kind: z.literal('warming-up') }),
  z.strictObject({ kind: z.literal('rpc-error'), code: z.int(), message: z.string() }),
  /** One digit of a blob's data is another one. */
  z.strictObject({ kind: z.literal('wrong-bytes') }),
  /** A blob's data is longer (zeros) or shorter than `datasize`. */
  z.strictObject({ kind: z.literal('wrong-size'), byBytes: z.int() }),
  z.strictObject({ kind: z.literal('odd-hex') }),
  z.strictObject({ kind: z.literal('non-hex') }),
  /** A get without `data`. */
  z.strictObject({ kind: z.literal('no-data') }),
  /** Each entry of a list twice. */
  z.strictObject({ kind: z.literal('duplicate-entries') }),
  /** Every so many entries of a list is left out, another one each time. */
  z.strictObject({ kind: z.literal('vanishing-entries'), every: positive }),
]);

export const Fault = z.union([TransportFault, AnswerFault]);
export const FaultRule = z.strictObject({
  fault: Fault,
  /** Methods by the dialect's names; absent: all. */
  methods: z.array(z.string()).optional(),
  /** Only calls with this hash or txid among their parameters, and list entries with it. */
  hash: z.string().optional(),
  /** So many matching calls first go well. Default 0. */
  after: z.int().nonnegative().optional(),
  /** Then so many fail. Absent: all. */
  times: positive.optional(),
});

export type TransportFault = z.infer<typeof TransportFault>;
export type AnswerFault = z.infer<typeof AnswerFault>;
export type Fault = z.infer<typeof Fault>;
/** Which calls go wrong, how, and how often. */
export type FaultRule = z.input<typeof FaultRule>;

const TRANSPORT_KINDS = new Set<string>(TransportFault.options.map((option) => option.shape.kind.value));

export function isTransportFault(fault: Fault): fault is TransportFault {
  return TRANSPORT_KINDS.has(fault.kind);
}

/** Was the call carried out although its answer went wrong? */
export function isCarriedOut(fault: TransportFault): boolean {
  if (fault.kind === 'reset') return fault.carriedOut;
  return !['unauthorized', 'work-queue-full', 'html', 'empty-body', 'no-batches'].includes(fault.kind);
}
