import type { Catalog } from '../../catalog/catalog.ts';
import { COPIED } from '../../catalog/copy-table.ts';
import type { KeptCustom } from '../../catalog/custom-ledger.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import { Notifier } from '../../core/notifier.ts';
import type { Clock } from '../../core/time/clock.ts';
import { customPath } from '../../storage/object-store.ts';
import type { BackendHandle } from '../backend-handle.ts';
import type { CopyFound, CopyKind, Move } from '../copy-worker.ts';
import type { CustomPlace } from './custom-place.ts';
import type { CustomPlaces } from './custom-places.ts';

interface CustomMove extends Move {
  readonly entry: KeptCustom;
}

/** Pause before a content that no place had is looked for everywhere again. */
const LOST_EVERY_MS = 300_000;
/** Every round counts the contents again: from this many on, the count stops. */
const MAX_COUNTED = 10_000;

/**
 * Custom bytes are brought to every place with names, from a good copy elsewhere, and count where they were read back and
 * hashed. What is damaged there is copied aside before it is replaced. A place that is configured no more proves nothing.
 */
export class CustomCopies implements CopyKind<CustomPlace, CustomMove> {
  readonly name = 'custom';
  readonly copied = [COPIED.custom];
  readonly places: readonly CustomPlace[];
  readonly changes: Notifier;
  readonly #catalog: Catalog;
  readonly #places: CustomPlaces;
  readonly #conditions: ConditionBoard;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** End of the last round that looked for lost contents, by place. */
  readonly #lookedMs = new Map<string, number>();

  constructor(
    catalog: Catalog,
    places: CustomPlaces,
    sites: readonly BackendHandle[],
    conditions: ConditionBoard,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#catalog = catalog;
    this.#places = places;
    this.#conditions = conditions;
    this.#clock = clock;
    this.places = places.all;
    this.changes = Notifier.following(catalog.copies.changes(COPIED.custom), ...sites.map(({ changes }) => changes));
  }

  async prepare(): Promise<void> {}

  due(place: CustomPlace, after: CustomMove | null, limit: number, isAsked: boolean): CustomMove[] {
    if (!place.isUsable) return [];
    const looksForLost = isAsked || this.#isLostDue(place);
    const { custom } = this.#catalog;
    const found = custom.due(place.id, looksForLost ? 'all' : 'held', after?.object ?? 0, limit, isAsked);
    return found.map((entry) => {
      return { kind: COPIED.custom, object: entry.sequence, path: customPath(entry), entry };
    });
  }

  /** A fault of the disk may have passed: what is good where it is to be is not written again. */
  async move({ entry }: CustomMove, place: CustomPlace, signal: AbortSignal) {
    if ((await place.read(entry, signal)).kind === 'good') return 'good';
    const { bytes } = await this.#places.find(entry, signal, place.id);
    // The content may have been taken down meanwhile: then no place has to have it.
    if (bytes === null || !this.#catalog.custom.isKnown(entry)) return 'not-now';
    await place.put(entry, bytes, signal);
    return 'brought';
  }

  async find({ entry }: CustomMove, place: CustomPlace, signal: AbortSignal): Promise<CopyFound> {
    return (await place.read(entry, signal)).kind;
  }

  settle({ id }: CustomPlace, done: readonly CustomMove[]): void {
    const { custom } = this.#catalog;
    for (const { entry } of done) if (custom.isKnown(entry)) custom.record(entry, entry.sizeBytes, id);
  }

  roundEnded({ id, isUsable }: CustomPlace): false {
    if (isUsable && this.#isLostDue({ id })) this.#lookedMs.set(id, this.#clock.steadyMs());
    this.#tell();
    return false;
  }

  #isLostDue({ id }: Pick<CustomPlace, 'id'>): boolean {
    const lookedMs = this.#lookedMs.get(id);
    return lookedMs === undefined || this.#clock.steadyMs() - lookedMs >= LOST_EVERY_MS;
  }

  #tell(): void {
    const [catalog, conditions, places] = [this.#catalog, this.#conditions, this.#places];
    const [first] = catalog.custom.someNames(1);
    const names = first === undefined ? 0 : catalog.custom.countNames(MAX_COUNTED);
    conditions.set(
      'custom',
      first === undefined
        ? null
        : {
            code: 'archive/custom-commitment',
            message: `${names < MAX_COUNTED ? '' : 'At least '}${names.toLocaleString('en')} blobs on chain have bytes at the node that match neither hash; one is ${first}. They are kept apart, unverified.`,
            hint: 'Look at the node: either its cache is damaged, or a transaction commits to something else. They are under /v1/custom/, and every node is asked again.',
            blocksReadiness: false,
          },
    );
    const damaged = places.all.filter(({ id }) => catalog.custom.damagedCount(id) > 0).map(({ id }) => id);
    conditions.set(
      'custom-copies',
      damaged.length === 0
        ? null
        : {
            code: 'archive/damaged-copy',
            message: `Copies of custom commitments are missing or damaged at ${damaged.join(', ')}; of ${catalog.custom.lostCount()} no copy is left.`,
            hint: 'They are replaced from another copy, or from the node while it has them. `holdfast check` lists them; look at that disk or server.',
            blocksReadiness: false,
          },
    );
  }
}
