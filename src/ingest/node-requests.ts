import type { QueuedBlob } from '../catalog/seen-table.ts';
import { codeOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BlobNode, FetchOutcome } from '../node/blob-node.ts';
import type { FetchFailures } from './fetch-failures.ts';
import type { Poller } from './poller.ts';
import { SlowRequests } from './slow-requests.ts';

/** This many broken requests in a row are the node's fault; of fewer, a blob may be the cause. */
const BROKEN_IN_A_ROW = 3;
/** Milliseconds without requests after a request failed as a whole. */
const REQUEST_RETRY_MS = 1_000;

/** Requests for blobs to the node, which rests after one that failed as a whole. */
export class NodeRequests {
  readonly #node: BlobNode;
  readonly #poller: Pick<Poller, 'doubtChain'>;
  readonly #failures: FetchFailures;
  readonly #conditions: ConditionBoard;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #slow: SlowRequests;
  /** First blob of each request that failed as a whole since the last success. */
  readonly #broken = new Set<VersionHash>();
  #restUntilMs = 0;

  constructor(
    node: BlobNode,
    poller: Pick<Poller, 'doubtChain'>,
    failures: FetchFailures,
    conditions: ConditionBoard,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#node = node;
    this.#poller = poller;
    this.#failures = failures;
    this.#conditions = conditions;
    this.#clock = clock;
    this.#slow = new SlowRequests(conditions);
  }

  /** Milliseconds until the node may be asked again; 0 or less: now. */
  get restMs(): number {
    return this.#restUntilMs - this.#clock.steadyMs();
  }

  rest(error: unknown, blocksReadiness = true): void {
    this.#restUntilMs = this.#clock.steadyMs() + REQUEST_RETRY_MS;
    this.#conditions.setError('fetch', error, blocksReadiness);
  }

  /** null: the request failed as a whole. */
  async fetch(wanted: readonly QueuedBlob[], signal: AbortSignal): Promise<FetchOutcome[] | null> {
    try {
      const names = `${wanted[0]?.versionHash ?? ''}${wanted.length > 1 ? ` and ${wanted.length - 1} others` : ''}`;
      const outcomes = await this.#slow.watch(names, this.#node.fetchBlobs(wanted, signal));
      this.#conditions.set('fetch', null);
      this.#broken.clear();
      return outcomes;
    } catch (error) {
      if (signal.aborted || !(error instanceof Error)) throw error;
      for (const { versionHash } of wanted.slice(0, 1)) this.#broken.add(versionHash);
      this.rest(error, this.#broken.size >= BROKEN_IN_A_ROW);
      if (isConnectionLost(error)) this.#poller.doubtChain();
      // One blob may have broken the request: each rests, and is asked for alone then, so that none holds up others.
      this.#failures.record(wanted.map((one) => [one, error] as const));
      return null;
    }
  }
}

/** The next request may reach another node. */
function isConnectionLost(error: Error): boolean {
  const code = codeOf(error);
  return code === 'node/connection-lost' || code === 'node/unreachable';
}
