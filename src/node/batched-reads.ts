import { readBatch } from './blob-answer.ts';
import { NodeError } from './errors.ts';
import { type RpcAnswer, readEnvelope, resultOf } from './rpc-answer.ts';
import { type BatchedCall, encodeBatch } from './rpc-request.ts';
import type { NodeTransport, TransportRequest } from './transport.ts';

/** Told when the node of this name turns out to refuse batches, with what it did; and when it takes them again (null). */
export type BatchWatch = (node: string, refusal: NodeError | null) => void;

/** One answer to several calls: what each came to, by its place. Calls that are not in it are made alone. */
export type BatchReader<T> = (body: Buffer) => ReadonlyMap<number, T>;

/** Calls that are made alone in place of batches, at a time, by all who ask this node. */
const ALONE_AT_ONCE = 4;
/** A node that refuses batches is sent one again after this. */
const REST_MS = 3_600_000;
/** What breaks an answer can have other reasons: so many batches in a row, while their calls alone went well. */
const BROKEN_IN_A_ROW = 2;
/** JSON-RPC 2.0, of what is no request. Ours are: whoever says so takes no batches. */
const INVALID_REQUEST = -32600;

/**
 * Several reads in one request. Some nodes, and some proxies before nodes, refuse that (400, 413, -32600), give one object
 * or an empty list, only the first answer, or close the connection. What a batch does not bring is asked for call by
 * call; where that goes well, the batch was the reason, and none is sent for a while.
 */
export class BatchedReads {
  readonly #transport: NodeTransport;
  readonly #watch: BatchWatch;
  readonly #waiting: (() => void)[] = [];
  #aloneUnderWay = 0;
  #brokenInARow = 0;
  #restUntilMs = 0;
  #isRefused = false;

  constructor(transport: NodeTransport, watch: BatchWatch) {
    this.#transport = transport;
    this.#watch = watch;
  }

  /**
   * What each call came to, in their order. What `read` or `alone` throws ends all of them.
   * @throws NodeError; on abort the signal's reason.
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
      // One failed: the others make no more calls.
      missing.length = 0;
    }
    return [...found].sort(([a], [b]) => a - b).map(([, value]) => value);
  }

  /** null: all was brought. Else what looks like a refusal. */
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
    return performance.now() < this.#restUntilMs;
  }

  /** Nothing was missing: of a batch, if one was sent. */
  #accepted(): void {
    this.#brokenInARow = 0;
    if (!this.#isRefused || this.#rests()) return;
    this.#isRefused = false;
    this.#watch(this.#transport.name, null);
  }

  /** The batch did not go well, and its first call alone did. */
  #wentAlone(refusal: NodeError): void {
    this.#brokenInARow += 1;
    if (weightOf(refusal) === 'broken' && this.#brokenInARow < BROKEN_IN_A_ROW) return;
    this.#restUntilMs = performance.now() + REST_MS;
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
      // Whoever waits takes this one's place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#aloneUnderWay -= 1;
      else next();
    }
  }
}

/** The way of proxies that know no batches: nothing in the list, or the first answer alone. */
function incomplete(calls: number, answers: number): NodeError {
  return new NodeError('node/rpc-error', `A batch of ${calls} calls was answered with ${answers} of them.`, {
    details: { calls, answers },
    retryable: true,
    hint: 'They are made one by one.',
  });
}

/**
 * What a batch of so many calls was answered with, by their places; without what was answered twice, or refused for its
 * form.
 * @throws NodeError what the node says of the batch as a whole; `node/malformed-answer`
 */
export function batchAnswers(value: unknown, calls: number): Map<number, RpcAnswer> {
  const placed = new Map<number, RpcAnswer>();
  if (!Array.isArray(value)) {
    // A node that is starting, or refuses batches, answers them with one error.
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

/** What a batch that failed says of batches, where its first call alone goes well. */
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
      // From a proxy; else nothing was sent.
      return status >= BAD_GATEWAY ? 'broken' : 'nothing';
    default:
      return 'nothing';
  }
}
