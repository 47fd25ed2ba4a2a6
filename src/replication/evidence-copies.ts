import type { Catalog } from '../catalog/catalog.ts';
import { COPIED } from '../catalog/copy-table.ts';
import type { EvidenceDocument } from '../catalog/evidence-outbox.ts';
import { HoldfastError } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { listDocuments, type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../storage/record-path.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import { type CopyFound, type CopyKind, isOfOneObject, type Move, refusing } from './copy-worker.ts';

interface EvidenceModules {
  /** Evidence lies below `audit/<archiver id>/`, apart from that of every other archiver on the same backend. */
  readonly archiverId: string;
  readonly catalog: Catalog;
  /** Every backend with names, the data folder first. Each gets all of it, whenever it came to be one. */
  readonly records: readonly ObjectStore[];
  readonly conditions: ConditionBoard;
}

interface EvidenceMove extends Move {
  readonly path: RecordPath;
  readonly document: string;
}

const GROUP = 64;

/**
 * Evidence exists nowhere else. It is recorded in the commit that makes it so, which queues it for every backend; a later
 * state is another object, so that a mark for the earlier one says nothing of it. Nothing is ever deleted, and nothing of
 * another archiver is touched. It counts as there when the place gave the same text back: a crash before that mark leaves it
 * queued, and the same is put again.
 */
export class EvidenceCopies implements CopyKind<ObjectStore, EvidenceMove> {
  readonly name = 'evidence';
  readonly copied = [COPIED.evidence];
  readonly places: readonly ObjectStore[];
  /** One look-up in an index. */
  readonly idleMs = 1_000;
  readonly changes = new Notifier();
  readonly #modules: EvidenceModules;

  constructor(modules: EvidenceModules) {
    this.#modules = modules;
    this.places = modules.records;
  }

  /** Documents that each backend has still to get. */
  get status(): ArchiveStatus['chain']['evidence'] {
    const { archiverId, catalog } = this.#modules;
    const waiting = Object.fromEntries(this.places.map(({ id }) => [id, catalog.evidence.waitingFor(id)]));
    return { archiverId, waiting };
  }

  /** What a catalog that is no more had written to the data folder is this archiver's own, and what is recorded since is later. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { catalog, conditions } = this.#modules;
    const [folder] = this.places;
    if (folder === undefined || catalog.evidence.hasGiven(folder.id)) return;
    const prefix = this.#placeOf('');
    let group: Pick<EvidenceDocument, 'path' | 'document'>[] = [];
    let unread = 0;
    for await (const { path } of listDocuments(folder, prefix, signal)) {
      try {
        const document = await readText(folder, path, signal);
        if (document !== null) group.push({ path: path.slice(prefix.length), document });
      } catch (error) {
        signal.throwIfAborted();
        // A file that the disk does not give is told, and keeps none of the others.
        if (!(error instanceof HoldfastError) || !(await isOfOneObject(error, folder, signal))) throw error;
        unread += 1;
        conditions.set(`chain:unread-evidence:${folder.id}`, refusing(folder, unread, error));
      }
      if (group.length < GROUP) continue;
      catalog.losses.adoptEvidence(group);
      group = [];
    }
    catalog.losses.adoptEvidence(group);
    catalog.evidence.recordGiven(folder.id);
  }

  due({ id }: ObjectStore, after: EvidenceMove | null, limit: number, isAsked: boolean): EvidenceMove[] {
    const found = this.#modules.catalog.evidence.due(id, after?.object ?? 0, limit, isAsked);
    return found.map(({ path, document, sequence: object }) => {
      return { kind: COPIED.evidence, object, path: parseRecordPath(this.#placeOf(path)), document };
    });
  }

  async move(move: EvidenceMove, store: ObjectStore, signal: AbortSignal): Promise<'brought'> {
    await store.put({ path: move.path, text: textOf(move) }, 'replace', signal);
    return 'brought';
  }

  async find(move: EvidenceMove, store: ObjectStore, signal: AbortSignal): Promise<CopyFound> {
    const text = await readText(store, move.path, signal);
    if (text === null) return 'missing';
    return text === textOf(move) ? 'good' : 'damaged';
  }

  settle({ id }: ObjectStore, done: readonly EvidenceMove[]): void {
    this.#modules.catalog.evidence.recordDelivered(
      id,
      done.map(({ object }) => object),
    );
  }

  roundEnded(): false {
    return false;
  }

  #placeOf(path: string): string {
    return `audit/${this.#modules.archiverId}/${path}`;
  }
}

/** As it lies on backends. */
function textOf({ document }: EvidenceMove): string {
  const value: unknown = JSON.parse(document);
  return `${JSON.stringify(value, null, 2)}\n`;
}
