import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Pulse } from '../core/pulse.ts';
import { listDocuments, type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../storage/record-path.ts';
import { RefusedRecords } from './refused-records.ts';

export interface EvidenceModules {
  /** Evidence lies below `audit/<archiver id>/`, apart from that of every other archiver on the same backend. */
  readonly archiverId: string;
  readonly catalog: Catalog;
  /** Every backend with names. Each gets all of it, whenever it came to be one. */
  readonly stores: readonly ObjectStore[];
  readonly conditions: ConditionBoard;
  /** A clock that never steps. */
  readonly steadyMs: () => number;
}

const GROUP = 64;
/** The outbox is looked at so often: one look-up in an index. */
const IDLE_MS = 1_000;
const RETRY_MS = 15_000;

export interface EvidenceStatus {
  readonly archiverId: string;
  /** Documents that each backend has still to get. */
  readonly waiting: Readonly<Record<string, number>>;
}

/** A store, and what it refuses. */
interface Target {
  readonly store: ObjectStore;
  readonly refused: RefusedRecords;
}

/**
 * Brings evidence to every backend with names, to each at its own pace: one that is away holds up no other, and one document
 * that it refuses no other document.
 */
export class EvidenceKeeper {
  readonly #modules: EvidenceModules;
  readonly #pause = new Pulse();
  /** One at a time to each store: an older state must not arrive after a later one. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #targets: readonly Target[];

  constructor(modules: EvidenceModules) {
    this.#modules = modules;
    this.#targets = modules.stores.map((store) => {
      const subject = `chain:refused-evidence:${store.id}` as const;
      return { store, refused: new RefusedRecords({ ...modules, store, subject }) };
    });
  }

  get status(): EvidenceStatus {
    const { archiverId, catalog, stores } = this.#modules;
    return {
      archiverId,
      waiting: Object.fromEntries(stores.map(({ id }) => [id, catalog.evidence.waitingFor(id)])),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const [first] = this.#targets;
    // The first one is the data folder: what a catalog that is no more had written there is this archiver's own.
    if (first !== undefined) await this.#insist(first.store, () => this.#adopt(first, signal), signal);
    await Promise.all(this.#targets.map((target) => this.#serve(target, signal)));
  }

  /** Brings what waits to every store once, for commands that run once. Gives why some could not get it. */
  async deliverNow(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const faults = new Map<string, string>();
    for (const [index, target] of this.#targets.entries()) {
      const { store } = target;
      try {
        if (index === 0) await this.#adopt(target, signal);
        await this.#deliver(target, signal, true);
        const [refused] = this.#modules.catalog.evidence.refused(store.id, '', 1);
        if (refused !== undefined) faults.set(store.id, `The ${store.id} store refuses ${refused} and takes others.`);
      } catch (error) {
        signal.throwIfAborted();
        faults.set(store.id, messageOf(error));
      }
    }
    return faults;
  }

  /** Before the outbox ever wrote to it: afterwards the outbox knows all that lies there. */
  async #adopt({ store, refused }: Target, signal: AbortSignal): Promise<void> {
    const { catalog, archiverId } = this.#modules;
    if (catalog.evidence.deliveredTo(store.id) !== null) return;
    const prefix = `audit/${archiverId}/`;
    let group: { path: string; document: string }[] = [];
    for await (const { path } of listDocuments(store, prefix, signal)) {
      const read = async () => {
        const document = await readText(store, path, signal);
        if (document !== null) group.push({ path: path.slice(prefix.length), document });
      };
      // A file that the disk does not give is told, and keeps none of the others.
      await refused.attempt(path, read, signal);
      if (group.length < GROUP) continue;
      catalog.losses.adoptEvidence(group);
      group = [];
    }
    catalog.losses.adoptEvidence(group);
    catalog.evidence.recordDelivered(store.id, 0);
  }

  async #serve(target: Target, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#insist(target.store, () => this.#deliver(target, signal, false), signal);
      await this.#pause.wait(IDLE_MS, signal);
    }
  }

  /** `isAsked`: somebody waits for it, so that what rests is tried as well. */
  async #deliver(target: Target, signal: AbortSignal, isAsked: boolean): Promise<void> {
    const { store, refused } = target;
    const { evidence } = this.#modules.catalog;
    refused.beginRound();
    for (let after = ''; ; ) {
      const again = evidence.refused(store.id, after, GROUP);
      const last = again.at(-1);
      if (last === undefined) break;
      after = last;
      for (const path of again) {
        if (isAsked || !refused.isResting(this.#placeOf(path))) await this.#bring(target, path, signal);
      }
      await letOthersWork(undefined, { signal });
    }
    for (;;) {
      const due = evidence.due(store.id, GROUP);
      const last = due.at(-1);
      if (last === undefined) return;
      for (const { path } of due) await this.#bring(target, path, signal);
      evidence.recordDelivered(store.id, last.sequence);
    }
  }

  /** Resolves when the store has the latest state, or is recorded to refuse this document alone. */
  async #bring({ store, refused }: Target, path: string, signal: AbortSignal): Promise<void> {
    const { evidence } = this.#modules.catalog;
    const put = () => this.#inTurn(store, () => this.#putLatest(store, path, signal));
    if (await refused.attempt(this.#placeOf(path), put, signal)) evidence.recordAccepted(store.id, path);
    else evidence.recordRefused(store.id, path);
  }

  #placeOf(path: string): RecordPath {
    return parseRecordPath(`audit/${this.#modules.archiverId}/${path}`);
  }

  /** As it is now: it may have changed since it was found to be due, and somebody else may have brought that. */
  async #putLatest(store: ObjectStore, path: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { catalog } = this.#modules;
    const document = catalog.evidence.find(path);
    // An old report that the catalog does not keep any more.
    if (document === null) return;
    const text = `${JSON.stringify(document, null, 2)}\n`;
    await store.put({ path: this.#placeOf(path), text }, 'replace', signal);
  }

  #inTurn(store: ObjectStore, work: () => Promise<void>): Promise<void> {
    // Whoever asked is told what fails; the next one has its turn all the same.
    const turn = (this.#turns.get(store.id) ?? Promise.resolve()).then(work);
    this.#turns.set(
      store.id,
      turn.catch(() => {}),
    );
    return turn;
  }

  /** Until it is done: told meanwhile, and the archive is ready, for bytes are archived and served all the same. */
  async #insist(store: ObjectStore, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const subject = `chain:evidence:${store.id}` as const;
    while (!signal.aborted) {
      try {
        await work();
        this.#modules.conditions.set(subject, null);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#modules.conditions.setError(subject, error, false);
      }
      await this.#pause.wait(RETRY_MS, signal);
    }
  }
}
