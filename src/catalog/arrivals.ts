import type { ContentName } from '../core/blob/ids.ts';
import { RECORDED_OCCURRENCES } from './chain-index.ts';
import type { SpooledContent } from './content-table.ts';
import type { LeftOutLedger } from './left-out-ledger.ts';
import type { PlacementTable } from './placement-table.ts';
import type { RecordOutbox } from './record-outbox.ts';
import type { Tables } from './tables.ts';
import type { UnminedLedger } from './unmined-ledger.ts';

/** Content whose bytes are durable: out of the fetch queue, into everybody's books. */
export class Arrivals {
  readonly #tables: Tables;
  readonly #unmined: UnminedLedger;
  readonly #records: RecordOutbox;
  readonly #leftOut: Pick<LeftOutLedger, 'letIn' | 'recordEvidence'>;

  constructor(
    tables: Tables,
    unmined: UnminedLedger,
    records: RecordOutbox,
    leftOut: Pick<LeftOutLedger, 'letIn' | 'recordEvidence'>,
  ) {
    this.#tables = tables;
    this.#unmined = unmined;
    this.#records = records;
    this.#leftOut = leftOut;
  }

  /** Within a transaction of the caller. Gives those that were held already, or are withheld: of these nothing was recorded. */
  record(contents: readonly SpooledContent[]): readonly SpooledContent[] {
    const { content, seen, placements, nowMs } = this.#tables;
    const arrivals = this.#judged(contents);
    const put = content.putSpooled(arrivals, nowMs());
    const fresh: Parameters<PlacementTable['wantNew']>[0][number][] = [];
    for (const [index, arrival] of arrivals.entries()) {
      const given = put[index] ?? null;
      const dueSeconds = arrival.content.dueSeconds ?? arrival.content.medianTimeSeconds ?? 0;
      if (given?.isNew === true) fresh.push({ ...given, dueSeconds });
      else if (given !== null) placements.want(given.sequence, dueSeconds, given.isUnmined);
      if (given !== null) this.#enter(arrival.content, arrival.isOnChain);
      seen.remove(arrival.content.versionHash);
    }
    placements.wantNew(fresh);
    this.#leftOut.recordEvidence();
    return contents.filter((_, index) => (put[index] ?? null) === null);
  }

  /** Splits contents into those that a block has, and those that none has, as far as can be known. */
  #judged(contents: readonly SpooledContent[]) {
    const unmined = this.#unmined;
    const records = this.#records;
    const knownAfterSeconds = unmined.knownAfterSeconds();
    return contents.map((content) => {
      const isOnChain = records.isOnChain(content);
      const isListedLate = knownAfterSeconds !== null && (content.medianTimeSeconds ?? 0) > knownAfterSeconds;
      return { content, isOnChain, isUnmined: content.isUnmined === true && !isOnChain && isListedLate };
    });
  }

  #enter(content: SpooledContent, isOnChain: boolean): void {
    const records = this.#records;
    this.#unmined.recordReturned(content);
    this.#leftOut.letIn(content);
    if (isOnChain) records.queueFirst(content, RECORDED_OCCURRENCES);
  }

  /** Within a transaction that says that a backend has its bytes: they came again, and its first occurrences are to have records. */
  recordElsewhere(name: ContentName): void {
    const records = this.#records;
    this.#unmined.recordReturned(name);
    this.#leftOut.letIn(name);
    this.#leftOut.recordEvidence();
    if (records.isOnChain(name)) records.queueFirst(name, RECORDED_OCCURRENCES);
  }
}
