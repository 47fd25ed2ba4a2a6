import { HASH_TYPES, type NamedHash } from '../../core/blob/ids.ts';
import { StorageError } from '../../storage/errors.ts';
import type { Unavailable, Withheld } from '../../view/archive-view.ts';
import type { Gate } from '../gate.ts';
import { namesListedIn } from '../withhold/withheld-file.ts';
import { type WithheldRecordStore, withheldRecordsIn } from '../withhold/withheld-records.ts';

/** A name that an operator withheld, from the records on a backend. */
export interface WithheldName {
  /** null: a list of names says no more than the name. */
  readonly at: string | null;
  /** Reason that the operator published. */
  readonly publicReason: string | null;
}

export interface WithheldOptions {
  /** Backends with names: the records of every archiver id on them count. */
  readonly stores: readonly WithheldRecordStore[];
  /** A file of names, one a line, for what no backend tells (IPFS has no records); null: none. */
  readonly file: string | null;
}

/** A reading that goes on, and how many times it was waited for. */
interface UnderWay {
  readonly reading: Promise<void>;
  waits: number;
}

/** A reading that was waited for so often is late. */
const LATE_WAITS = 4;

/**
 * Names that may not be served, from every store's latest records. Until every store was read once, no name is served.
 */
export class WithheldNames implements Gate {
  readonly #options: WithheldOptions;
  readonly #bySource = new Map<string, ReadonlyMap<string, WithheldName>>();
  /** The failure of the last reading, by source. */
  readonly #faults = new Map<string, StorageError>();
  readonly #underWay = new Map<string, UnderWay>();

  constructor(options: WithheldOptions) {
    this.#options = options;
  }

  /** Sources that were never read: the names that they withhold are unknown. */
  get unread(): string[] {
    const { stores, file } = this.#options;
    const sources = [...stores.map(({ id }) => id), ...(file === null ? [] : [file])];
    return sources.filter((source) => !this.#bySource.has(source));
  }

  refusal({ versionHash, hashType }: NamedHash): Withheld | Unavailable | null {
    const types = hashType === null ? HASH_TYPES : [hashType];
    const found = [...this.#bySource.values()].flatMap((names) => {
      return types.flatMap((type) => names.get(`${type}/${versionHash}`) ?? []);
    });
    const told = found.find(({ publicReason }) => publicReason !== null) ?? found[0];
    if (told !== undefined) return { kind: 'withheld', ...told };
    if (this.unread.length === 0) return null;
    const message = 'It is not known yet what may not be served.';
    return { kind: 'unavailable', reason: 'cannot-tell', message, retryAfterSeconds: 5 };
  }

  /** Sources whose reading takes long: names that were withheld since it began are not known yet. */
  get late(): string[] {
    return [...this.#underWay].flatMap(([source, { waits }]) => (waits > LATE_WAITS ? [source] : []));
  }

  /**
   * Begins to read each source again that is not being read, and waits until all are read or `patience` aborts. A reading
   * goes on then, because a source may have many records: only `signal` ends it. Returns the failure of each source's last
   * reading; the last known names of a failed source stay in force.
   */
  async refresh(signal: AbortSignal, patience: AbortSignal): Promise<ReadonlyMap<string, StorageError>> {
    const { stores, file } = this.#options;
    for (const store of stores) this.#read(store.id, () => namesIn(store, signal), signal);
    if (file !== null) this.#read(file, () => namesInFile(file), signal);
    const readings = [...this.#underWay.values()].map((one) => {
      one.waits += 1;
      return one.reading;
    });
    const impatience = Promise.withResolvers<void>();
    const leave = () => impatience.resolve();
    patience.addEventListener('abort', leave, { once: true });
    if (patience.aborted) leave();
    try {
      await Promise.race([Promise.all(readings), impatience.promise]);
    } finally {
      patience.removeEventListener('abort', leave);
    }
    signal.throwIfAborted();
    return this.#faults;
  }

  #read(source: string, read: () => Promise<ReadonlyMap<string, WithheldName>>, signal: AbortSignal): void {
    if (this.#underWay.has(source)) return;
    const reading = async () => {
      try {
        this.#bySource.set(source, await read());
        this.#faults.delete(source);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof StorageError)) throw error;
        this.#faults.set(source, error);
      } finally {
        this.#underWay.delete(source);
      }
    };
    this.#underWay.set(source, { reading: reading(), waits: 0 });
  }
}

async function namesIn(store: WithheldRecordStore, signal: AbortSignal): Promise<ReadonlyMap<string, WithheldName>> {
  const records = await withheldRecordsIn(store, signal);
  // One archiver's revocation does not undo what another one withholds.
  const inForce = records.filter(({ revokedAt }) => revokedAt === null);
  const names = new Map<string, WithheldName>();
  for (const { hashType, versionHash, at, publicReason } of inForce) {
    const name = `${hashType}/${versionHash}`;
    // A record with a published reason goes before one without.
    if ((names.get(name)?.publicReason ?? null) === null) names.set(name, { at, publicReason });
  }
  return names;
}

async function namesInFile(file: string): Promise<ReadonlyMap<string, WithheldName>> {
  const names = await namesListedIn(file);
  return new Map(
    names.map(({ hashType, versionHash }) => [`${hashType}/${versionHash}`, { at: null, publicReason: null }]),
  );
}
