import type { Catalog } from '../catalog/catalog.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import { BATCH_LIMITS, takeBatch } from './fetch-plan.ts';

/** Rows of the queue that are looked at in one go. */
const LOOK_AHEAD = 512;

/**
 * Chooses the next blobs to request, nearest deadline first. Blobs that failed before may hang again: while others
 * wait, only one request is for failed ones, and one is always left for new ones.
 */
export class FetchQueue {
  readonly #catalog: Catalog;
  readonly #maxRetries: number;
  readonly #isUnderWay: (wanted: QueuedBlob) => boolean;
  #fresh: QueuedBlob[] = [];
  #failed: QueuedBlob[] = [];

  /** `requests`: how many may be under way in all. */
  constructor(catalog: Catalog, requests: number, isUnderWay: (wanted: QueuedBlob) => boolean) {
    this.#catalog = catalog;
    this.#maxRetries = Math.max(1, requests - 1);
    this.#isUnderWay = isUnderWay;
  }

  get isEmpty(): boolean {
    return this.#fresh.length === 0 && this.#failed.length === 0;
  }

  /** Reads what may be asked for now; `underWay`: how many of the rows are passed over at most. */
  read(underWay: number): void {
    const limit = LOOK_AHEAD + underWay;
    const mayGo = (wanted: QueuedBlob) => !this.#isUnderWay(wanted);
    this.#fresh = this.#catalog.nextQueued(limit, 'fresh').filter(mayGo);
    this.#failed = this.#catalog.nextQueued(limit, 'failed').filter(mayGo);
  }

  /** The next request's blobs; none: there is nothing to ask for. `retries`: requests under way for what failed before. */
  take(retries: number): QueuedBlob[] {
    const [fresh] = this.#fresh;
    const [failed] = this.#failed;
    const mayRetry = failed !== undefined && retries < (fresh === undefined ? this.#maxRetries : 1);
    const isRetryFirst = mayRetry && (fresh === undefined || isMoreUrgent(failed, fresh));
    return takeBatch(isRetryFirst ? this.#failed : this.#fresh, BATCH_LIMITS);
  }
}

/** Orders as the catalog does: blobs on chain first, then by deadline. */
function isMoreUrgent(one: QueuedBlob, other: QueuedBlob): boolean {
  if ((one.hashType === null) !== (other.hashType === null)) return one.hashType !== null;
  return one.medianTimeSeconds < other.medianTimeSeconds;
}
