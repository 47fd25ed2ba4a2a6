import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { AbsenceAnswer, Loss } from '../catalog/loss-document.ts';
import type { RecordedLoss } from '../catalog/loss-ledger.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';
import { deadlineOf, MAX_BLOB_BYTES, RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { BlobNode, ListedBlob } from '../node/blob-node.ts';
import type { UnverifiedBlob, VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { HeldBytes } from '../view/held-bytes.ts';
import { otherChain } from './node-group.ts';

/**
 * A source that may have bytes: a backend or a peer. `null` is a definite answer of absence; a failure rejects.
 * `wrong-bytes`: two attempts gave bytes of something else.
 */
export interface RescueSource {
  readonly name: string;
  /** Kind and address of a peer, whatever name the operator gave it. */
  readonly sourceName?: string;
  /** @param isAgain true after wrong bytes, to use another connection where possible */
  find(name: ContentName, signal: AbortSignal, isAgain: boolean): Promise<UnverifiedBlob | 'wrong-bytes' | null>;
}

export interface LossModules {
  readonly catalog: Catalog;
  readonly poller: Pick<Poller, 'state' | 'isListCurrent' | 'isListed'>;
  readonly chain: Pick<ChainState, 'isWalked' | 'moved'>;
  readonly nodes: { readonly all: readonly BlobNode[] };
  /** The data folder and every configured backend. */
  readonly sources: readonly RescueSource[];
  /** Every configured peer. Bytes from a peer are recorded as such. */
  readonly peers: readonly RescueSource[];
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly held: Pick<HeldBytes, 'copyOf'>;
  readonly spooler: Pick<Spooler, 'spool'>;
  readonly conditions: ConditionBoard;
  readonly activity: Pick<Activity, 'emit'>;
  readonly clock: Clock;
}

/** Rows examined at once, so that resting rows do not hide the others. */
const LOOK_AHEAD = 512;
/** Blobs judged at once. */
const GROUP = 16;
/**
 * Factor of idle time per judging: a question costs the node 60 ms under its main lock, and most of its time must stay
 * free.
 */
const REST_FACTOR = 3;
/** Milliseconds until all are asked again after one did not answer. */
const UNANSWERED_REST_MS = 60_000;
const IDLE_MS = 15_000;
const COPIES = 2;

type Answer = 'absent' | 'wrong-bytes' | 'no-answer' | VerifiedBlob;

/** A blob of the queue, or recorded as lost. */
type Suspect = ListedBlob & ContentName & Pick<QueuedBlob, 'medianTimeSeconds' | 'firstSeenMs'>;

/** A node, backend or peer that must answer before a blob is lost. */
interface Asked {
  readonly name: string;
  readonly isPeer: boolean;
  readonly ask: (wanted: Suspect, signal: AbortSignal) => Promise<Answer>;
}

/**
 * Decides which blobs are lost: on chain, past the deadline, and every configured source has answered that it lacks the
 * bytes. A failure is not an answer. Found bytes are archived.
 */
export class LossJudge {
  readonly #modules: LossModules;
  readonly #wake: Notifier;
  readonly #resting = new Map<VersionHash, number>();
  /** Every configured source. */
  readonly #everybody: readonly Asked[];
  /** Progress of comparing recorded losses with the current configuration; `done`: all were compared. */
  #compared: ContentName | null | 'done' = null;
  /** true when a source did not answer, so that the recorded losses must be compared once more. */
  #isIncomplete = false;

  /** @param changes notifies when the list of the node is current, and when the node has been asked for everything */
  constructor(modules: LossModules, changes: Notifier) {
    this.#modules = modules;
    this.#wake = Notifier.following(modules.chain.moved, modules.catalog.evidence.takenOver, changes);
    this.#everybody = [
      ...[...modules.sources, ...modules.peers].map((source) => ({
        name: source.name,
        isPeer: modules.peers.includes(source),
        ask: (wanted: Suspect, signal: AbortSignal) => this.#askSource(source, wanted, signal),
      })),
      ...modules.nodes.all.map((node) => ({
        name: `node ${node.name}`,
        isPeer: false,
        ask: (wanted: Suspect, signal: AbortSignal) => this.#askNode(node, wanted, signal),
      })),
    ];
  }

  async run(signal: AbortSignal): Promise<void> {
    const { conditions } = this.#modules;
    const step = async (): Promise<Next> => {
      const startedMs = this.#modules.clock.steadyMs();
      await this.#tellRevoked(signal);
      // The sources may take long to answer: until then, what the catalog says would seem to be over after a start.
      this.#tell();
      const judged = (await this.#judgeSome(signal)) || (await this.#askNewcomers(signal));
      if (judged === 0) return IDLE_MS;
      this.#tell();
      // The nodes keep this time for other work, however fast blocks come.
      await pause((this.#modules.clock.steadyMs() - startedMs) * REST_FACTOR, signal);
      return 0;
    };
    await runLoop('chain:loss', step, { signal, backoff: BACKOFF.local, wake: this.#wake, conditions });
  }

  /**
   * Reasons to wait: a node that catches up lacks blobs that it will have, and a new catalog does not know yet what a rule left
   * out.
   */
  #mayJudge(): number | null {
    const { catalog, poller, chain } = this.#modules;
    const { tip } = poller.state;
    if (!catalog.evidence.isTakenOver) return null;
    return tip !== null && poller.isListCurrent() && chain.isWalked ? tip.medianTimeSeconds : null;
  }

  async #judgeSome(signal: AbortSignal): Promise<number> {
    const { catalog, poller, activity } = this.#modules;
    const tipSeconds = this.#mayJudge();
    if (tipSeconds === null) return 0;
    for (const [hash, untilMs] of this.#resting)
      if (untilMs <= this.#modules.clock.steadyMs()) this.#resting.delete(hash);
    const overdue = catalog.losses
      .overdue(tipSeconds, LOOK_AHEAD)
      .filter(({ versionHash }) => !poller.isListed(versionHash) && !this.#resting.has(versionHash))
      // A blob with custom bytes is kept apart and is not lost.
      .filter(({ versionHash }) => !catalog.custom.has(versionHash))
      .slice(0, GROUP);
    const losses: Loss[] = [];
    for (const wanted of overdue) {
      const loss = await this.#judge(wanted, signal);
      if (loss !== null) losses.push(loss);
    }
    // The branch may have changed while the sources answered. Custom bytes may have come. A list may have told a size that a rule
    // leaves out.
    const missing = losses.filter(
      (loss) =>
        catalog.chain.lastHeight(loss) === loss.upToHeight &&
        !catalog.withheld.has(loss) &&
        !catalog.leftOut.has(loss.versionHash) &&
        !catalog.custom.has(loss.versionHash),
    );
    const lost = missing.length > 0 ? catalog.losses.record(missing) : [];
    for (const { hashType, versionHash } of lost) activity.emit('lost', { hashType, versionHash });
    return overdue.length;
  }

  async #judge({ hashType, ...wanted }: QueuedBlob, signal: AbortSignal): Promise<Loss | null> {
    if (hashType === null) return null;
    const { catalog } = this.#modules;
    const name = { hashType, versionHash: wanted.versionHash };
    const upToHeight = catalog.chain.lastHeight(name);
    if (await this.#saveHeld({ ...wanted, ...name }, signal)) return null;
    const answers = await this.#askAll(this.#everybody, { ...wanted, ...name }, signal);
    if (answers === null || upToHeight === null) return null;
    return { ...name, upToHeight, deadlineSeconds: deadlineOf(wanted.medianTimeSeconds), answers };
  }

  /**
   * A recorded loss names every source of its time. A source that was added since may have the bytes: it is asked, and
   * its answer is recorded with the others.
   */
  async #askNewcomers(signal: AbortSignal): Promise<number> {
    if (this.#compared === 'done' || this.#mayJudge() === null) return 0;
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
    const { catalog } = this.#modules;
    const { hashType, versionHash, deadlineSeconds, recordedMs } = loss;
    const newcomers = this.#everybody.filter(({ name }) => !loss.answers.some(({ source }) => source === name));
    // A blob that a list or a block names again is judged as a whole.
    const isOpen = () => catalog.findQueued(versionHash) !== null || catalog.withheld.has(loss);
    if (newcomers.length === 0 || isOpen()) return false;
    const [occurrence] = catalog.chain.occurrences(loss, null, 1);
    const wanted: Suspect = {
      hashType,
      versionHash,
      sizeBytes: MAX_BLOB_BYTES,
      txid: occurrence?.txid ?? null,
      medianTimeSeconds: deadlineSeconds - RETENTION_SECONDS,
      firstSeenMs: recordedMs,
    };
    const answers = await this.#askAll(newcomers, wanted, signal);
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
   * again later. One that does not answer keeps nothing of the others from being found.
   */
  async #askAll(
    everybody: readonly Asked[],
    wanted: Suspect,
    signal: AbortSignal,
  ): Promise<readonly AbsenceAnswer[] | null> {
    const { clock } = this.#modules;
    const { versionHash } = wanted;
    const answers: AbsenceAnswer[] = [];
    for (const { name, isPeer, ask } of everybody) {
      const answer = await ask(wanted, signal);
      if (answer === 'no-answer') continue;
      if (typeof answer !== 'string') {
        await this.#save(answer, wanted, signal);
        if (isPeer) this.#modules.catalog.recordGiver(wanted, name);
        return null;
      }
      answers.push({ source: name, answered: answer, at: new Date(clock.wallMs()).toISOString() });
    }
    if (answers.length === everybody.length) return answers;
    this.#resting.set(versionHash, clock.steadyMs() + UNANSWERED_REST_MS);
    return null;
  }

  /** Saves a blob from this process's memory, whatever other copies exist. */
  async #saveHeld(wanted: Suspect, signal: AbortSignal): Promise<boolean> {
    const { held, verifier } = this.#modules;
    const copy = held.copyOf(wanted);
    const blob = copy === null ? null : await verifier.verify(copy);
    if (blob === null) return false;
    await this.#save(blob, wanted, signal);
    return true;
  }

  /** A blob without space here rests and does not delay the others. */
  async #save(blob: VerifiedBlob, wanted: Suspect, signal: AbortSignal): Promise<void> {
    try {
      await this.#modules.spooler.spool(blob, { ...wanted, sizeBytes: blob.bytes.length }, signal);
    } catch (error) {
      if (!isForLater(error)) throw error;
      this.#resting.set(wanted.versionHash, this.#modules.clock.steadyMs() + UNANSWERED_REST_MS);
    }
  }

  async #askSource(source: RescueSource, { hashType, versionHash }: Suspect, signal: AbortSignal): Promise<Answer> {
    const name = { hashType, versionHash };
    return await this.#ask(signal, hashType, (isAgain) => source.find(name, signal, isAgain));
  }

  async #askNode(node: BlobNode, wanted: Suspect, signal: AbortSignal): Promise<Answer> {
    return await this.#ask(signal, wanted.hashType, async () => {
      await this.#assertOurChain(node, signal);
      // The blob is fetched alone, like any failed one, so that no other blob can cause the failure.
      const [outcome] = await node.fetchBlobs([{ ...wanted, attempts: (wanted.attempts ?? 0) + 1 }], signal);
      switch (outcome?.kind) {
        case 'bytes':
          return outcome.blob;
        case 'absent':
          return null;
        default:
          throw outcome?.error ?? new Error('The node answered nothing.');
      }
    });
  }

  /** A node of another chain has no say about absence, whichever node it replaced. */
  async #assertOurChain(node: BlobNode, signal: AbortSignal): Promise<void> {
    const { genesis } = this.#modules.poller.state;
    const theirs = await node.genesisHash(signal);
    if (genesis !== null && theirs !== genesis) throw otherChain(node.name, theirs, genesis);
  }

  /** Wrong bytes are fetched once more: the first copy may have been damaged on its way. */
  async #ask(
    signal: AbortSignal,
    hashType: HashType,
    find: (isAgain: boolean) => Promise<UnverifiedBlob | 'wrong-bytes' | null>,
  ): Promise<Answer> {
    try {
      for (let copy = 0; copy < COPIES; copy += 1) {
        const found = await find(copy > 0);
        if (found === null) return 'absent';
        if (found === 'wrong-bytes') return found;
        const verified = await this.#modules.verifier.verify({ ...found, hashType });
        if (verified !== null) return verified;
      }
      return 'wrong-bytes';
    } catch (error) {
      signal.throwIfAborted();
      this.#modules.conditions.note(
        'chain:loss',
        `a source that may have overdue bytes did not answer: ${messageOf(error)}`,
      );
      return 'no-answer';
    }
  }

  #tell(): void {
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
