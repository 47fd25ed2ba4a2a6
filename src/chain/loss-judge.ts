import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { AbsenceAnswer, Loss } from '../catalog/loss-document.ts';
import type { RecordedLoss } from '../catalog/loss-ledger.ts';
import type { OverdueKind, QueuedBlob } from '../catalog/seen-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import type { ContentName, VersionHash } from '../core/blob/ids.ts';
import { deadlineOf, MAX_BLOB_BYTES, RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard, Raised } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { LossRule } from './loss-rule.ts';
import type { LossSearch } from './loss-search.ts';
import type { Suspect } from './node-source.ts';

export interface LossModules {
  readonly catalog: Catalog;
  readonly rule: LossRule;
  readonly search: LossSearch;
  readonly spooler: Pick<Spooler, 'spool'>;
  readonly conditions: ConditionBoard;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** Rows examined at once, among which resting and listed ones are passed over. */
const LOOK_AHEAD = 512;
/** Blobs judged in one step. */
const GROUP = 16;
/**
 * Factor of idle time per time of asking: a question costs the node 60 ms under its main lock, and most of its time must
 * stay free.
 */
const REST_FACTOR = 3;
/** A source that hangs makes the asking long without any work for the node. */
const MAX_REST_MS = 600_000;
/** Milliseconds until all are asked again after one did not answer. */
const UNANSWERED_REST_MS = 60_000;
const IDLE_MS = 15_000;

/**
 * Decides which blobs are lost: on chain, past the deadline, and every configured source has answered that it lacks the
 * bytes. A failure is not an answer. Found bytes are archived.
 */
export class LossJudge {
  readonly #modules: LossModules;
  readonly #wake: Notifier;
  readonly #resting = new Map<VersionHash, number>();
  /** The overdue blob that the judge went up to; null: it begins with the oldest. */
  #reached: QueuedBlob | null = null;
  /** Progress of comparing recorded losses with the current configuration; `done`: all were compared. */
  #compared: ContentName | null | 'done' = null;
  /** The overdue blob that some sources did not answer for last, and what each of them said instead. */
  #unanswered: (ContentName & { readonly silent: readonly string[] }) | null = null;
  /** Time that the sources took to answer in this step. Bytes that were found may wait for hours for room, and count for nothing. */
  #askingMs = 0;
  /** true when a source did not answer, so that the recorded losses must be compared once more. */
  #isIncomplete = false;

  /**
   * @param changes notifies when blobs may be judged again: the chain moved, the list of the node is current, or the node has been
   * asked for everything
   */
  constructor(modules: LossModules, changes: Notifier) {
    this.#modules = modules;
    this.#wake = Notifier.following(modules.catalog.evidence.takenOver, changes);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { conditions } = this.#modules;
    const step = async (): Promise<Next> => {
      this.#askingMs = 0;
      await this.#tellRevoked(signal);
      // The sources may take long to answer: until then, what the catalog says would seem to be over after a start.
      this.#tell();
      let judged = await this.#judgeSome(signal);
      // Overdue blobs that get no answer come again and again: the recorded losses have a turn after each round.
      if (this.#reached === null) judged += await this.#askNewcomers(signal);
      if (judged === 0) return IDLE_MS;
      this.#tell();
      // The nodes keep this time for other work, however fast blocks come.
      await pause(Math.min(this.#askingMs * REST_FACTOR, MAX_REST_MS), signal);
      return 0;
    };
    await runLoop('chain:loss', step, { signal, backoff: BACKOFF.local, wake: this.#wake, conditions });
  }

  /** Resolves to 0 when the judge has gone through all overdue blobs, and asked for none of the last ones. */
  async #judgeSome(signal: AbortSignal): Promise<number> {
    const { catalog, rule, clock } = this.#modules;
    const tipSeconds = rule.tipSeconds();
    if (tipSeconds === null) return 0;
    for (const [hash, untilMs] of this.#resting) if (untilMs <= clock.steadyMs()) this.#resting.delete(hash);
    const page = catalog.losses.overdue(tipSeconds, LOOK_AHEAD, this.#reached);
    const group = page
      .filter(({ versionHash }) => !rule.isListed(versionHash) && !this.#resting.has(versionHash))
      .slice(0, GROUP);
    // After the newest the oldest have their turn again, and not before: their rest may be shorter than a step.
    const last = group.length === GROUP ? group.at(-1) : page[LOOK_AHEAD - 1];
    this.#reached = last ?? null;
    for (const wanted of group) {
      const loss = await this.#judge(wanted, signal);
      // Each loss is recorded before the next question, which may take minutes: answers grow old.
      if (loss !== null) rule.record([loss]);
    }
    return this.#reached === null ? group.length : page.length;
  }

  async #judge({ hashType, ...queued }: QueuedBlob, signal: AbortSignal): Promise<Loss | null> {
    if (hashType === null) return null;
    const { catalog, search } = this.#modules;
    const name = { hashType, versionHash: queued.versionHash };
    const wanted: Suspect = { ...queued, ...name };
    const upToHeight = catalog.chain.lastHeight(name);
    const held = await search.inMemory(wanted);
    if (held !== null) {
      await this.#save(held, wanted, signal);
      return null;
    }
    const answers = await this.#askAll(wanted, [], signal);
    if (answers === null || upToHeight === null) return null;
    return { ...name, upToHeight, deadlineSeconds: deadlineOf(queued.medianTimeSeconds), answers };
  }

  /**
   * A recorded loss names every source of its time. A source that was added since may have the bytes: it is asked, and
   * its answer is recorded with the others.
   */
  async #askNewcomers(signal: AbortSignal): Promise<number> {
    if (this.#compared === 'done' || this.#modules.rule.tipSeconds() === null) return 0;
    const page = this.#modules.catalog.losses.page(this.#compared, LOOK_AHEAD);
    let asked = 0;
    for (const loss of page) {
      if (asked === GROUP) break;
      asked += Number(await this.#completed(loss, signal));
      this.#compared = loss;
    }
    if (page.length === 0 && this.#resting.size === 0) {
      this.#compared = this.#isIncomplete ? null : 'done';
      this.#isIncomplete = false;
    }
    return page.length;
  }

  /** Resolves to true when any source was asked. */
  async #completed(loss: RecordedLoss, signal: AbortSignal): Promise<boolean> {
    const { catalog, search } = this.#modules;
    const { hashType, versionHash, deadlineSeconds, recordedMs } = loss;
    // A blob that a list or a block names again is judged as a whole.
    const isOpen = () => catalog.findQueued(versionHash) !== null || catalog.withheld.has(loss);
    if (!search.hasOthers(loss.answers) || isOpen()) return false;
    const [occurrence] = catalog.chain.occurrences(loss, null, 1);
    const wanted: Suspect = {
      hashType,
      versionHash,
      sizeBytes: MAX_BLOB_BYTES,
      txid: occurrence?.txid ?? null,
      medianTimeSeconds: deadlineSeconds - RETENTION_SECONDS,
      firstSeenMs: recordedMs,
    };
    const answers = await this.#askAll(wanted, loss.answers, signal);
    if (answers === null) this.#isIncomplete = true;
    else if (!isOpen() && this.#stillStands(loss)) {
      catalog.losses.record([{ ...loss, answers: [...loss.answers, ...answers] }]);
    }
    return true;
  }

  /** The bytes may have turned up, or the block have left the branch, while the sources answered. */
  #stillStands(loss: RecordedLoss): boolean {
    const { catalog } = this.#modules;
    return catalog.losses.find(loss) !== null && catalog.chain.lastHeight(loss) === loss.upToHeight;
  }

  /**
   * Resolves to null when some source has the bytes, which are then archived, or when one did not answer: all are asked
   * again later.
   */
  async #askAll(
    wanted: Suspect,
    answered: readonly AbsenceAnswer[],
    signal: AbortSignal,
  ): Promise<readonly AbsenceAnswer[] | null> {
    const { search, clock } = this.#modules;
    const begunMs = clock.steadyMs();
    const result = await search.ask(wanted, answered, signal).finally(() => {
      this.#askingMs += clock.steadyMs() - begunMs;
    });
    switch (result.kind) {
      case 'absent':
        return result.answers;
      case 'unanswered':
        this.#rest(wanted);
        // A recorded loss, of which a new source is asked, is overdue no more.
        if (this.#modules.catalog.findQueued(wanted.versionHash) !== null)
          this.#unanswered = { hashType: wanted.hashType, versionHash: wanted.versionHash, silent: result.silent };
        return null;
      case 'found':
        await this.#save(result.blob, wanted, signal);
        if (result.peer !== null) this.#modules.catalog.recordGiver(wanted, result.peer);
        return null;
      default:
        return result satisfies never;
    }
  }

  /** A blob without space here rests and does not delay the others. */
  async #save(blob: VerifiedBlob, wanted: Suspect, signal: AbortSignal): Promise<void> {
    try {
      await this.#modules.spooler.spool(blob, { ...wanted, sizeBytes: blob.bytes.length }, signal);
    } catch (error) {
      if (!isForLater(error)) throw error;
      this.#rest(wanted);
    }
  }

  #rest({ versionHash }: Suspect): void {
    this.#resting.set(versionHash, this.#modules.clock.steadyMs() + UNANSWERED_REST_MS);
  }

  /**
   * Raises that blobs are past their deadline, and neither here nor recorded as lost. It is called when the chain's clock
   * moves: the alarms before a deadline end then. It tells also while the judge may not judge.
   */
  tellOverdue(): void {
    const { catalog, rule, conditions } = this.#modules;
    const nowSeconds = rule.clockSeconds;
    if (nowSeconds === null) return;
    const [first, ...others] = catalog.losses.overdue(nowSeconds, LOOK_AHEAD, null, rule.toldOverdue);
    if (!this.#isStillUnanswered(nowSeconds)) this.#unanswered = null;
    conditions.set('overdue', first === undefined ? null : this.#overdue(first, others.length + 1));
  }

  #isStillUnanswered(nowSeconds: number): boolean {
    const { catalog, rule } = this.#modules;
    if (this.#unanswered === null) return false;
    const { versionHash } = this.#unanswered;
    const queued = catalog.findQueued(versionHash);
    const isOverdue = queued?.hashType != null && deadlineOf(queued.medianTimeSeconds) < nowSeconds;
    return isOverdue && !catalog.custom.has(versionHash) && !rule.isListed(versionHash);
  }

  #overdue(first: QueuedBlob, count: number): Raised {
    const { hashType, versionHash } = this.#unanswered ?? first;
    const silent = this.#unanswered?.silent.map((said) => said.replace(/\.$/, '')).join('; ');
    const why =
      silent === undefined ? 'Holdfast has still to ask for it.' : `These sources did not answer for it: ${silent}.`;
    return {
      code: 'chain/overdue',
      message: `${count === LOOK_AHEAD ? 'At least ' : ''}${count} blobs on chain are not here, and the node may have pruned them: their deadline is over. They are not recorded as lost either. One is ${hashType} ${versionHash}. ${why}`,
      hint: 'Bring the sources back that did not answer. A source that is gone for good keeps the blob from being called lost until you take it out of the configuration. Where a peer withholds the blob for good, withhold it here too: holdfast withhold <version hash> --reason "<why>". Add an archive that has the blobs to HOLDFAST_PEERS, or fetch them now: holdfast backfill --source peer=<its address>.',
      blocksReadiness: false,
      amount: count,
    };
  }

  /** Kind of blobs past their deadline that is told of now. */
  get toldOverdue(): OverdueKind {
    return this.#modules.rule.toldOverdue;
  }

  #tell(): void {
    this.tellOverdue();
    const { catalog, conditions } = this.#modules;
    const count = catalog.losses.count();
    const [first] = count === 0 ? [] : catalog.losses.page(null, 1);
    conditions.set(
      'chain:lost',
      first === undefined
        ? null
        : {
            code: 'chain/lost',
            message: `${count} blobs on chain are lost: no node, backend or peer had them after their deadline. One is ${first.hashType} ${first.versionHash}.`,
            hint: '`holdfast check --chain` lists them, with who answered what. Bytes that turn up anywhere revoke it.',
            blocksReadiness: false,
            amount: count,
          },
    );
  }

  async #tellRevoked(signal: AbortSignal): Promise<void> {
    const { catalog, conditions } = this.#modules;
    for (;;) {
      const revoked = catalog.losses.takeRevoked();
      if (revoked.length === 0) return;
      for (const { hashType, versionHash, because } of revoked) {
        const why = because === 'bytes-turned-up' ? 'its bytes turned up' : 'no block of our branch has it any more';
        conditions.note('chain:lost', `${hashType} ${versionHash} is not lost: ${why}`);
      }
      await letOthersWork(undefined, { signal });
    }
  }
}
