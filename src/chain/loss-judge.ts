import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { AbsenceAnswer, Loss } from '../catalog/loss-document.ts';
import type { RecordedLoss } from '../catalog/loss-ledger.ts';
import type { WantedBlob } from '../catalog/wanted-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
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
 * Somebody who may have bytes: a backend, a peer. `null` is its positive answer; a fault throws. `wrong-bytes`: what it gives is
 * not the blob, and the source has looked twice by itself.
 */
export interface BytesSource {
  readonly name: string;
  /** `isAgain`: what it gave was wrong. It is asked over another connection then, where there is one. */
  find(name: ContentName, signal: AbortSignal, isAgain: boolean): Promise<UnverifiedBlob | 'wrong-bytes' | null>;
}

export interface LossModules {
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly chain: ChainState;
  readonly nodes: { readonly all: readonly BlobNode[] };
  /** The data folder and every configured backend. */
  readonly sources: readonly BytesSource[];
  /** Every configured peer: what one of them gave says so in its record. */
  readonly peers: readonly BytesSource[];
  readonly verifier: Verifier;
  readonly held: HeldBytes;
  readonly spooler: Spooler;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly clock: Clock;
}

/** Rows that are looked at in one go: those that rest must not hide the others. */
const LOOK_AHEAD = 512;
/** Blobs judged in one go. */
const GROUP = 16;
/** A question costs the node 60 ms under its main lock: it gets at least three times as long for everything else. */
const REST_FACTOR = 3;
/** Where somebody did not answer, all are asked again after this. */
const UNANSWERED_REST_MS = 60_000;
const IDLE_MS = 15_000;
const COPIES = 2;

type Answer = 'absent' | 'wrong-bytes' | 'no-answer' | VerifiedBlob;

/** What is asked for: of the queue, or recorded as lost. */
type Wanted = ListedBlob & ContentName & Pick<WantedBlob, 'medianTimeSeconds' | 'firstSeenMs'>;

/** Somebody who is to answer before anything is lost. */
interface Asked {
  readonly name: string;
  readonly isPeer: boolean;
  readonly ask: (wanted: Wanted, signal: AbortSignal) => Promise<Answer>;
}

/**
 * Says what is lost: on chain, past its deadline, and everybody who could have it has answered that they have not. A
 * fault is not an answer. Whoever has it after all makes it ours.
 */
export class LossJudge {
  readonly #modules: LossModules;
  readonly #resting = new Map<VersionHash, number>();
  /** Everybody who is configured. */
  readonly #everybody: readonly Asked[];
  /** How far the recorded losses were compared with the configuration of now; `done`: all of them were. */
  #compared: ContentName | null | 'done' = null;
  /** Somebody did not answer on the way: the recorded losses are compared once more. */
  #isIncomplete = false;

  constructor(modules: LossModules) {
    this.#modules = modules;
    this.#everybody = [
      ...[...modules.sources, ...modules.peers].map((source) => ({
        name: source.name,
        isPeer: modules.peers.includes(source),
        ask: (wanted: Wanted, signal: AbortSignal) => this.#askSource(source, wanted, signal),
      })),
      ...modules.nodes.all.map((node) => ({
        name: `node ${node.name}`,
        isPeer: false,
        ask: (wanted: Wanted, signal: AbortSignal) => this.#askNode(node, wanted, signal),
      })),
    ];
  }

  async run(signal: AbortSignal): Promise<void> {
    const { chain, conditions } = this.#modules;
    const step = async (): Promise<Next> => {
      const startedMs = this.#modules.clock.steadyMs();
      await this.#tellRevoked(signal);
      const judged = (await this.#judgeSome(signal)) || (await this.#askNewcomers(signal));
      this.#tell();
      if (judged === 0) return IDLE_MS;
      // However fast blocks come, the nodes have this time for everything else.
      await pause((this.#modules.clock.steadyMs() - startedMs) * REST_FACTOR, signal);
      return 0;
    };
    await runLoop('chain:loss', step, { signal, backoff: BACKOFF.local, wake: chain.moved, conditions });
  }

  /** What does not hold yet: a node that catches up has not got what it will have. */
  #mayJudge(): number | null {
    const { poller, chain } = this.#modules;
    const { tip } = poller.state;
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
      // Something was there for it: kept apart, and not lost.
      .filter(({ versionHash }) => !catalog.custom.has(versionHash))
      .slice(0, GROUP);
    const losses: Loss[] = [];
    for (const wanted of overdue) {
      const loss = await this.#judge(wanted, signal);
      if (loss !== null) losses.push(loss);
    }
    // The branch may have changed while they were asked.
    const lost = losses.filter(
      (loss) => catalog.chain.lastHeight(loss) === loss.upToHeight && !catalog.withheld.has(loss),
    );
    if (lost.length > 0) catalog.losses.record(lost);
    for (const { hashType, versionHash } of lost) activity.emit('lost', { hashType, versionHash });
    return overdue.length;
  }

  async #judge({ hashType, ...wanted }: WantedBlob, signal: AbortSignal): Promise<Loss | null> {
    if (hashType === null) return null;
    const { catalog } = this.#modules;
    const name = { hashType, versionHash: wanted.versionHash };
    const upToHeight = catalog.chain.lastHeight(name);
    if (await this.#saveHeld({ ...wanted, ...name }, signal)) return null;
    const answers = await this.#askAll(this.#everybody, { ...wanted, ...name }, signal);
    if (answers === null || upToHeight === null) return null;
    return { ...name, upToHeight, deadlineSeconds: wanted.medianTimeSeconds + RETENTION_SECONDS, answers };
  }

  /**
   * A loss says that everybody who is configured answered. A node, backend or peer that was added since has not, and may
   * have the bytes: it is asked, and its answer is recorded with those of the others.
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

  /** true: somebody had to be asked. */
  async #completed(loss: RecordedLoss, signal: AbortSignal): Promise<boolean> {
    const { catalog } = this.#modules;
    const { hashType, versionHash, deadlineSeconds, recordedMs } = loss;
    const newcomers = this.#everybody.filter(({ name }) => !loss.answers.some(({ source }) => source === name));
    // What a list or a block names again is judged as a whole.
    const isOpen = () => catalog.findWanted(versionHash) !== null || catalog.withheld.has(loss);
    if (newcomers.length === 0 || isOpen()) return false;
    const [occurrence] = catalog.chain.occurrences(loss, null, 1);
    const wanted: Wanted = {
      hashType,
      versionHash,
      sizeBytes: MAX_BLOB_BYTES,
      txid: occurrence?.txid ?? null,
      medianTimeSeconds: deadlineSeconds - RETENTION_SECONDS,
      firstSeenMs: recordedMs,
    };
    const answers = await this.#askAll(newcomers, wanted, signal);
    if (answers === null) this.#isIncomplete = true;
    else if (!isOpen() && catalog.chain.lastHeight(loss) === loss.upToHeight) {
      catalog.losses.record([{ ...loss, answers: [...loss.answers, ...answers] }]);
    }
    return true;
  }

  /** null: somebody has the bytes, and they are ours now; or somebody did not answer, and is asked again later. */
  async #askAll(
    everybody: readonly Asked[],
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<readonly AbsenceAnswer[] | null> {
    const { clock } = this.#modules;
    const { versionHash } = wanted;
    const answers: AbsenceAnswer[] = [];
    for (const { name, isPeer, ask } of everybody) {
      const answer = await ask(wanted, signal);
      if (answer === 'no-answer') {
        this.#resting.set(versionHash, this.#modules.clock.steadyMs() + UNANSWERED_REST_MS);
        return null;
      }
      if (typeof answer !== 'string') {
        await this.#save(answer, wanted, signal);
        if (isPeer) this.#modules.catalog.recordGiver(wanted, name);
        return null;
      }
      answers.push({ source: name, answered: answer, at: new Date(clock.wallMs()).toISOString() });
    }
    return answers;
  }

  /** What this process serves out of memory is saved, whoever else has it. */
  async #saveHeld(wanted: Wanted, signal: AbortSignal): Promise<boolean> {
    const { held, verifier } = this.#modules;
    const copy = held.copyOf(wanted);
    const blob = copy === null ? null : await verifier.verify(copy);
    if (blob === null) return false;
    await this.#save(blob, wanted, signal);
    return true;
  }

  /** What has no place now rests, and keeps no other from being judged. */
  async #save(blob: VerifiedBlob, wanted: Wanted, signal: AbortSignal): Promise<void> {
    try {
      await this.#modules.spooler.spool(blob, { ...wanted, sizeBytes: blob.bytes.length }, signal);
    } catch (error) {
      if (!isForLater(error)) throw error;
      this.#resting.set(wanted.versionHash, this.#modules.clock.steadyMs() + UNANSWERED_REST_MS);
    }
  }

  async #askSource(source: BytesSource, { hashType, versionHash }: Wanted, signal: AbortSignal): Promise<Answer> {
    const name = { hashType, versionHash };
    return await this.#ask(signal, hashType, (isAgain) => source.find(name, signal, isAgain));
  }

  async #askNode(node: BlobNode, wanted: Wanted, signal: AbortSignal): Promise<Answer> {
    return await this.#ask(signal, wanted.hashType, async () => {
      await this.#assertOurChain(node, signal);
      // By itself, as what failed before is: nobody else's bytes are to blame for this answer.
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

  /** What a node of another chain has not got says nothing, whoever it stands in for. */
  async #assertOurChain(node: BlobNode, signal: AbortSignal): Promise<void> {
    const { genesis } = this.#modules.poller.state;
    const theirs = await node.genesisHash(signal);
    if (genesis !== null && theirs !== genesis) throw otherChain(node.name, theirs, genesis);
  }

  /** Bytes that do not hash to their name are asked for once more: the first copy may have been damaged on its way. */
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
        `somebody who may have overdue bytes did not answer: ${messageOf(error)}`,
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
            message: `${count} blobs that are on chain are lost: nobody had them when their time was over; one is ${first.hashType} ${first.versionHash}.`,
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
