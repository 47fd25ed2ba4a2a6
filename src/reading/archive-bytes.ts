import type { Catalog } from '../catalog/catalog.ts';
import type { CustomName, NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { CustomPlaces } from '../replication/custom/custom-places.ts';
import { StorageError } from '../storage/errors.ts';
import type { Asking, ProvenFile } from '../view/archive-view.ts';
import type { Absence } from './absence.ts';
import { entriesOf } from './entries-of.ts';
import type { HeldCopies } from './held-copies.ts';
import type { ProvenFiles } from './proven-files.ts';
import type { BlobFinder, BlobLookup, CustomLookup } from './proven-reader.ts';
import { lostIn } from './recorded-loss.ts';
import { unavailable } from './unavailable.ts';

/** Everything that an archive can find by a name: it gives bytes only when they are proven, and says "absent" only when that is. */
export class ArchiveBytes implements BlobFinder {
  readonly #catalog: Catalog;
  readonly #files: ProvenFiles;
  readonly #held: HeldCopies;
  readonly #custom: Pick<CustomPlaces, 'find'>;
  readonly #absence: Absence;

  constructor(
    catalog: Catalog,
    files: ProvenFiles,
    held: HeldCopies,
    custom: Pick<CustomPlaces, 'find'>,
    absence: Absence,
  ) {
    this.#catalog = catalog;
    this.#files = files;
    this.#held = held;
    this.#custom = custom;
    this.#absence = absence;
  }

  async find(name: NamedHash, { signal, hold }: Asking): Promise<BlobLookup> {
    const known = entriesOf(this.#catalog, name);
    const faults: StorageError[] = [];
    try {
      for (const entry of known) {
        if (entry.state === 'seen') continue;
        await hold(entry.sizeBytes);
        const search = await this.#held.find(entry, signal);
        if (search.found !== null) return { kind: 'found', blob: search.found.blob };
        faults.push(...search.faults);
      }
      const lost = lostIn(this.#catalog, name);
      if (lost !== null) return lost;
      const [fault] = faults;
      if (fault !== undefined) return unavailable('store-fault', fault.message, 10);
      if (known.length > 0) {
        return unavailable('damaged', 'The copy here is damaged; it is fetched again while the node has it.', 30);
      }
      return await this.#absence.of(name, signal);
    } catch (error) {
      if (error instanceof StorageError) return unavailable('store-fault', error.message, 10);
      throw error;
    }
  }

  async findCustom(name: CustomName, { signal, hold }: Asking): Promise<CustomLookup> {
    if (!this.#catalog.custom.isKnown(name)) return { kind: 'absent' };
    await hold(MAX_BLOB_BYTES);
    const { bytes, fault } = await this.#custom.find(name, signal);
    if (bytes !== null) return { kind: 'found', blob: { ...name, bytes } };
    return unavailable('store-fault', fault?.message ?? 'No copy of it is whole now.', 10);
  }

  async provenFile(name: NamedHash, signal: AbortSignal): Promise<ProvenFile | null> {
    return await this.#files.open(name, signal);
  }
}
