import { z } from 'zod';

const positive = z.int().positive();

/** Faults of the connection. */
const TransportFault = z.discriminatedUnion('kind', [
  /** Delays the answer. */
  z.strictObject({ kind: z.literal('latency'), ms: z.number().nonnegative() }),
  /** Answers 401, as for a wrong password. */
  z.strictObject({ kind: z.literal('unauthorized') }),
  /** Answers 503, as a node with a full work queue does. */
  z.strictObject({ kind: z.literal('work-queue-full') }),
  /** Resets the socket before any answer. `carriedOut` decides whether the call took effect. */
  z.strictObject({ kind: z.literal('reset'), carriedOut: z.boolean().default(true) }),
  /** Resets the socket after this many bytes of the body. */
  z.strictObject({ kind: z.literal('truncate'), bytes: z.int().nonnegative() }),
  /**
   * Ends the connection cleanly after this many bytes of a body without a length: complete for HTTP, half a document
   * for JSON.
   */
  z.strictObject({ kind: z.literal('half-json'), bytes: z.int().nonnegative() }),
  z.strictObject({ kind: z.literal('slow-body'), bytesPerSecond: positive }),
  /** Sends an endless body of at least this many bytes. */
  z.strictObject({ kind: z.literal('huge-body'), bytes: positive }),
  /** Answers with a proxy's HTML page. */
  z.strictObject({ kind: z.literal('html'), status: z.int().min(200).max(599).default(200) }),
  /** Answers 200 with an empty body. */
  z.strictObject({ kind: z.literal('empty-body') }),
  /** Refuses batches, as some nodes and proxies do. Single calls succeed. */
  z.strictObject({
    kind: z.literal('no-batches'),
    how: z.enum(['invalid-request', 'too-large', 'empty-list', 'closed']),
  }),
]);

/** Faults inside one answer: valid JSON with wrong content. */
const AnswerFault = z.discriminatedUnion('kind', [
  /** Answers -28, as a node that still loads. */
  z.strictObject({ kind: z.literal('warming-up') }),
  z.strictObject({ kind: z.literal('rpc-error'), code: z.int(), message: z.string() }),
  /** Changes one digit of a blob's data. */
  z.strictObject({ kind: z.literal('wrong-bytes') }),
  /** Makes a blob's data longer (by zeros) or shorter than `datasize`. */
  z.strictObject({ kind: z.literal('wrong-size'), byBytes: z.int() }),
  z.strictObject({ kind: z.literal('odd-hex') }),
  z.strictObject({ kind: z.literal('non-hex') }),
  /** Leaves `data` out of a get. */
  z.strictObject({ kind: z.literal('no-data') }),
  /** Duplicates each entry of a list. */
  z.strictObject({ kind: z.literal('duplicate-entries') }),
  /** Leaves every n-th entry out of a list, other entries each time. */
  z.strictObject({ kind: z.literal('vanishing-entries'), every: positive }),
]);

export const Fault = z.union([TransportFault, AnswerFault]);
export const FaultRule = z.strictObject({
  fault: Fault,
  /** Methods by their names in the dialect. Absent: all. */
  methods: z.array(z.string()).optional(),
  /** Restricts the rule to calls with this hash or txid as a parameter, and to list entries with it. */
  hash: z.string().optional(),
  /** Number of matching calls that succeed first. Default 0. */
  after: z.int().nonnegative().optional(),
  /** Number of calls that fail after that. Absent: all. */
  times: positive.optional(),
});

export type TransportFault = z.infer<typeof TransportFault>;
export type AnswerFault = z.infer<typeof AnswerFault>;
export type Fault = z.infer<typeof Fault>;
/** A fault, the calls that it hits, and how often. */
export type FaultRule = z.input<typeof FaultRule>;

const TRANSPORT_KINDS = new Set<string>(TransportFault.options.map((option) => option.shape.kind.value));

export function isTransportFault(fault: Fault): fault is TransportFault {
  return TRANSPORT_KINDS.has(fault.kind);
}

/** Reports whether the call takes effect in spite of the fault. */
export function isCarriedOut(fault: TransportFault): boolean {
  if (fault.kind === 'reset') return fault.carriedOut;
  return !['unauthorized', 'work-queue-full', 'html', 'empty-body', 'no-batches'].includes(fault.kind);
}
