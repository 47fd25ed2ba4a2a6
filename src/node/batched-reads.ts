import type { Clock } from '../core/time/clock.ts';
import { readBatch } from './blob-answer.ts';
import { NodeError } from './errors.ts';
import { type RpcAnswer, readEnvelope, resultOf } from './rpc-answer.ts';
import { type BatchedCall, encodeBatch } from './rpc-request.ts';
import type { NodeTransport, TransportRequest } from './transport.ts';

/** Called when a node starts to refuse batches, with the refusal, and when it accepts them again, with null. */
export type BatchWatch = (node: string, refusal: NodeError | null) => void;

/** Parses the answer to several calls into results by index. A call without a result is sent alone. */
export type BatchReader<T> = (body: Buffer) => ReadonlyMap<number, T>;

/** Concurrent single calls to one node in place of batches. */
const ALONE_AT_ONCE = 4;
/** Milliseconds until a node that refuses batches gets one again. */
const REST_MS = 3_600_000;
/**
 * Broken batches in a row, whose calls succeed alone, that count as a refusal. One broken answer may have another
 * reason.
 */
const BROKEN_IN_A_ROW = 2;
/**
 * JSON-RPC 2.0 code for an invalid request. Holdfast's requests are valid, so a node with this answer refuses batches.
 */
const INVALID_REQUEST = -32600;

/**
 * Sends several reads in one request. Some nodes and proxies refuse batches (400, 413, -32600), answer one object, an
 * empty list or only the first answer, or close the connection. Calls without an answer are sent alone. When they
 * succeed, the node refuses batches, and gets none for a while.
 */
export class BatchedReads {
  readonly #transport: NodeTransport;
  readonly #watch: BatchWatch;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #waiting: (() => void)[] = [];
  #aloneUnderWay = 0;
  #brokenInARow = 0;
  #restUntilMs = 0;
  #isRefused = false;

  constructor(transport: NodeTransport, watch: BatchWatch, clock: Pick<Clock, 'steadyMs'>) {
    this.#transport = transport;
    this.#watch = watch;
    this.#clock = clock;
  }

  /**
   * Resolves to the result of each call, in order. An error of `read` or `alone` rejects the whole.
   * @throws NodeError; the signal's reason on abort
   */
  async ask<T>(
    calls: readonly BatchedCall[],
    request: Omit<TransportRequest, 'effect' | 'body'>,
    read: BatchReader<T>,
    alone: (place: number) => Promise<T>,
  ): Promise<T[]> {
    const found = new Map<number, T>();
    const refusal = this.#rests() ? null : await this.#together(calls, request, read, found);
    const missing = [...calls.keys()].filter((place) => !found.has(place));
    const [first] = missing.splice(0, 1);
    if (first === undefined) this.#accepted();
    else {
      found.set(first, await this.#inTurn(() => alone(first)));
      if (refusal !== null) this.#wentAlone(refusal);
    }
    const lane = async () => {
      for (let place = missing.shift(); place !== undefined; place = missing.shift()) {
        const at = place;
        found.set(at, await this.#inTurn(() => alone(at)));
      }
    };
    const lanes = Array.from({ length: Math.min(ALONE_AT_ONCE, missing.length) }, lane);
    try {
      await Promise.all(lanes);
    } finally {
      // After a failure the other workers send no more calls.
      missing.length = 0;
    }
    return [...found].sort(([a], [b]) => a - b).map(([, value]) => value);
  }

  /** Sends a batch. Resolves to null when every call has an answer, or else to an error that looks like a refusal. */
  async #together<T>(
    calls: readonly BatchedCall[],
    request: Omit<TransportRequest, 'effect' | 'body'>,
    read: BatchReader<T>,
    found: Map<number, T>,
  ): Promise<NodeError | null> {
    try {
      const brought = await this.#transport.send({ ...request, effect: 'read', body: encodeBatch(calls) }, read);
      for (const [place, value] of brought) found.set(place, value);
    } catch (error) {
      if (!(error instanceof NodeError) || weightOf(error) === 'nothing') throw error;
      return error;
    }
    return found.size === calls.length ? null : incomplete(calls.length, found.size);
  }

  #rests(): boolean {
    return this.#clock.steadyMs() < this.#restUntilMs;
  }

  /** Notes that every call had an answer, in a batch if one was sent. */
  #accepted(): void {
    this.#brokenInARow = 0;
    if (!this.#isRefused || this.#rests()) return;
    this.#isRefused = false;
    this.#watch(this.#transport.name, null);
  }

  /** Notes that a batch failed and its first call succeeded alone. */
  #wentAlone(refusal: NodeError): void {
    this.#brokenInARow += 1;
    if (weightOf(refusal) === 'broken' && this.#brokenInARow < BROKEN_IN_A_ROW) return;
    this.#restUntilMs = this.#clock.steadyMs() + REST_MS;
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#watch(this.#transport.name, refusal);
  }

  async #inTurn<T>(call: () => Promise<T>): Promise<T> {
    if (this.#aloneUnderWay >= ALONE_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#aloneUnderWay += 1;
    try {
      return await call();
    } finally {
      // A waiting call takes the free place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#aloneUnderWay -= 1;
      else next();
    }
  }
}

/** Error for the answer of a proxy without batches: an empty list, or the first answer alone. */
function incomplete(calls: number, answers: number): NodeError {
  return new NodeError('node/rpc-error', `A batch of ${calls} calls was answered with ${answers} of them.`, {
    details: { calls, answers },
    retryable: true,
    hint: 'Holdfast sends the calls one by one.',
  });
}

/**
 * Parses the answer to a batch into results by index. Leaves out duplicate answers and those refused for their form.
 * @throws NodeError for an error about the whole batch; `node/malformed-answer`
 */
export function batchAnswers(value: unknown, calls: number): Map<number, RpcAnswer> {
  const placed = new Map<number, RpcAnswer>();
  if (!Array.isArray(value)) {
    // A node that is starting, or refuses batches, answers with one error object.
    resultOf(readEnvelope(value), '0', 'a batch');
    return placed;
  }
  const answers = readBatch(value);
  for (let place = 0; place < calls; place += 1) {
    const answer = answers.get(String(place));
    if (answer !== undefined && answer.error?.code !== INVALID_REQUEST) placed.set(place, answer);
  }
  return placed;
}

const BAD_GATEWAY = 502;

/** Classifies the failure of a batch whose first call succeeds alone. */
function weightOf({ code, details }: NodeError): 'refused' | 'broken' | 'nothing' {
  const status = Number(details['status'] ?? 0);
  switch (code) {
    case 'node/rpc-error':
    case 'node/method-not-found':
      return 'refused';
    case 'node/unauthorized':
      return status === 403 ? 'refused' : 'nothing';
    case 'node/not-a-node':
      return status >= 400 && status < 500 ? 'refused' : 'broken';
    case 'node/malformed-answer':
    case 'node/connection-lost':
    case 'node/timeout':
      return 'broken';
    case 'node/unreachable':
      // A gateway error comes from a proxy; otherwise nothing was sent.
      return status >= BAD_GATEWAY ? 'broken' : 'nothing';
    default:
      return 'nothing';
  }
}
