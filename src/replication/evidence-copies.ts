import type { Catalog } from '../catalog/catalog.ts';
import { COPIED } from '../catalog/copy-table.ts';
import type { EvidenceDocument } from '../catalog/evidence-outbox.ts';
import { isLeftOutPath } from '../catalog/left-out-document.ts';
import { HoldfastError } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Notifier } from '../core/notifier.ts';
import { listDocuments, type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../storage/record-path.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import { type CopyFound, type CopyKind, isOfOneObject, type Move, refusing } from './copy-worker.ts';
import { whyNotOwn } from './own-evidence.ts';

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
  /** Every backend with names, the data folder first. Each gets all of it, whenever it came to be one. */
  readonly places: readonly ObjectStore[];
  readonly changes: Notifier;
  /** Evidence lies below `audit/<archiver id>/`, apart from that of every other archiver on the same backend. */
  readonly #archiverId: string;
  /** Every key that this archiver has signed with: no other signs a statement of it. */
  readonly #ownKeys: () => readonly string[];
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  /** Whether this process has read the folder to its end: what was left then is told already. */
  #hasLooked = false;

  constructor(
    archiverId: string,
    ownKeys: () => readonly string[],
    catalog: Catalog,
    records: readonly ObjectStore[],
    conditions: ConditionBoard,
  ) {
    this.#archiverId = archiverId;
    this.#ownKeys = ownKeys;
    this.#catalog = catalog;
    this.#conditions = conditions;
    this.places = records;
    this.changes = catalog.copies.changes(COPIED.evidence);
  }

  /** Documents that each backend has still to get. */
  get status(): ArchiveStatus['chain']['evidence'] {
    const [archiverId, catalog] = [this.#archiverId, this.#catalog];
    const waiting = Object.fromEntries(this.places.map(({ id }) => [id, catalog.evidence.waitingFor(id)]));
    return { archiverId, waiting };
  }

  /**
   * Takes the evidence that an earlier catalog wrote to the data folder for this archiver's own; evidence recorded since is
   * later. A document that contradicts its path, or is not signed as it has to be, is reported, left there and not delivered.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const [catalog, conditions] = [this.#catalog, this.#conditions];
    const [folder] = this.places;
    // Each delivery asks for this first, such as that of a take-down, which is not to wait for every document again.
    if (folder === undefined || this.#hasLooked) return;
    if (catalog.evidence.hasGiven(folder.id)) {
      this.#hasLooked = true;
      catalog.evidence.recordTakenOver();
      return;
    }
    const prefix = this.#placeOf('');
    let group: Pick<EvidenceDocument, 'path' | 'document'>[] = [];
    const owner = { archiverId: this.#archiverId, keys: this.#ownKeys() };
    let [unread, refused] = [0, 0];
    // A document that was not taken over may name what would be called lost without it.
    let hidesLeftOut = false;
    for await (const { path } of listDocuments(folder, prefix, signal)) {
      try {
        const document = await readText(folder, path, signal);
        if (document === null) continue;
        const below = path.slice(prefix.length);
        const why = await whyNotOwn(below, document, owner);
        if (why === null) group.push({ path: below, document });
        else {
          refused += 1;
          hidesLeftOut ||= isLeftOutPath(below);
          conditions.set(`chain:refused-own-evidence:${folder.id}`, notTakenOver(folder, refused, path, why));
        }
      } catch (error) {
        signal.throwIfAborted();
        // A file that the disk does not give is told, and keeps none of the others.
        if (!(error instanceof HoldfastError) || !(await isOfOneObject(error, folder, signal))) throw error;
        unread += 1;
        hidesLeftOut ||= isLeftOutPath(path.slice(prefix.length));
        conditions.set(`chain:unread-evidence:${folder.id}`, refusing(folder, unread, error));
      }
      if (group.length < GROUP) continue;
      catalog.losses.adoptEvidence(group);
      group = [];
    }
    catalog.losses.adoptEvidence(group);
    // Documents that were left are looked at again after each start, so that they stay reported; the catalog's own are later.
    if (unread + refused === 0) catalog.evidence.recordGiven(folder.id);
    if (!hidesLeftOut) catalog.evidence.recordTakenOver();
    this.#hasLooked = true;
  }

  due({ id }: ObjectStore, after: EvidenceMove | null, limit: number, isAsked: boolean): EvidenceMove[] {
    const found = this.#catalog.evidence.due(id, after?.object ?? 0, limit, isAsked);
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
    this.#catalog.evidence.recordDelivered(
      id,
      done.map(({ object }) => object),
    );
  }

  roundEnded(): false {
    return false;
  }

  #placeOf(path: string): string {
    return `audit/${this.#archiverId}/${path}`;
  }
}

function notTakenOver({ id }: ObjectStore, count: number, path: string, why: string) {
  return {
    code: 'archive/refused-evidence',
    message: `${count} documents below audit/ in the ${id} store were not taken over into the new catalog. One of them: ${path}: ${why}`,
    hint: 'They lie where they lay, and count for nothing. Look who can write there; an own statement needs the archiver-key that it was signed with. While one below not-archived/ is left so, nothing is called lost.',
    blocksReadiness: false,
  };
}

/** The text of the document on backends. */
function textOf({ document }: EvidenceMove): string {
  const value: unknown = JSON.parse(document);
  return `${JSON.stringify(value, null, 2)}\n`;
}
