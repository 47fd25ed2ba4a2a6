import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { messageOf } from '../../blob/errors.ts';
import { HASH_TYPES, type NamedHash, parseNamedHash, parseVersionHash } from '../../blob/ids.ts';
import { StorageError } from '../../storage/errors.ts';
import type { RecordPath, RecordStore } from '../../storage/record-store.ts';

/** What an operator took down, as the records on a backend say it. */
export interface WithheldName {
  /** null: a list of names says no more than the name. */
  readonly at: string | null;
}

export interface WithheldOptions {
  /** Backends with names: the records of every archiver id on them count. */
  readonly stores: readonly Pick<RecordStore, 'id' | 'listRecords' | 'getRecord'>[];
  /** A file of names, one a line, for what no backend tells (IPFS has no records); null: none. */
  readonly file: string | null;
}

const PATH = /^audit\/[^/]+\/withheld\/([^/]+)\/([0-9a-f]{64})\.json$/;
const RECORD = z.looseObject({
  format: z.literal(1),
  hashType: z.enum(HASH_TYPES),
  versionHash: z.string().transform((text) => parseVersionHash(text)),
  at: z.string(),
  revokedAt: z.string().nullable(),
});
/** Names that are remembered at most: more are an attack on the bucket, not take-downs. */
const MOST_NAMES = 100_000;
const READS_AT_ONCE = 8;

/** Which names may not be served, of every store as it was last read. */
export class WithheldNames {
  readonly #options: WithheldOptions;
  readonly #bySource = new Map<string, ReadonlyMap<string, WithheldName>>();

  constructor(options: WithheldOptions) {
    this.#options = options;
  }

  /** Sources that were never read: until they are, nobody knows what they withhold. */
  get unread(): string[] {
    const { stores, file } = this.#options;
    const sources = [...stores.map(({ id }) => id), ...(file === null ? [] : [file])];
    return sources.filter((source) => !this.#bySource.has(source));
  }

  /** null: no source withholds it, as far as they were read. */
  find({ versionHash, hashType }: NamedHash): WithheldName | null {
    for (const names of this.#bySource.values()) {
      for (const type of hashType === null ? HASH_TYPES : [hashType]) {
        const found = names.get(`${type}/${versionHash}`);
        if (found !== undefined) return found;
      }
    }
    return null;
  }

  /** Reads all sources anew; what one of them fails with is given back, and its last known names go on counting. */
  async refresh(signal: AbortSignal): Promise<ReadonlyMap<string, StorageError>> {
    const faults = new Map<string, StorageError>();
    const { stores, file } = this.#options;
    const sources = [
      ...stores.map((store) => ({ id: store.id, read: () => namesIn(store, signal) })),
      ...(file === null ? [] : [{ id: file, read: () => namesInFile(file) }]),
    ];
    await Promise.all(
      sources.map(async ({ id, read }) => {
        try {
          this.#bySource.set(id, await read());
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof StorageError)) throw error;
          faults.set(id, error);
        }
      }),
    );
    return faults;
  }
}

type NamesStore = WithheldOptions['stores'][number];

async function namesIn(store: NamesStore, signal: AbortSignal): Promise<ReadonlyMap<string, WithheldName>> {
  const paths: RecordPath[] = [];
  for await (const { path } of store.listRecords('audit/', signal)) {
    if (PATH.test(path)) paths.push(path);
    if (paths.length > MOST_NAMES) throw unreadable(store.id, `it withholds more than ${MOST_NAMES} names`);
  }
  const names = new Map<string, WithheldName>();
  let next = 0;
  const lane = async () => {
    for (let path = paths[next++]; path !== undefined; path = paths[next++]) {
      const text = await store.getRecord(path, signal);
      if (text !== null) note(names, path, text, store.id);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, lane));
  return names;
}

/** One archiver's revocation does not undo what another one withholds. */
function note(names: Map<string, WithheldName>, path: string, text: string, source: string): void {
  const [, hashType = '', versionHash = ''] = PATH.exec(path) ?? [];
  let record: z.output<typeof RECORD>;
  try {
    record = RECORD.parse(JSON.parse(text));
  } catch (cause) {
    throw unreadable(source, `${path} is no record of a withheld blob: ${messageOf(cause)}`);
  }
  if (record.hashType !== hashType || record.versionHash !== versionHash) {
    throw unreadable(source, `${path} speaks of another blob`);
  }
  if (record.revokedAt === null) names.set(`${hashType}/${versionHash}`, { at: record.at });
}

async function namesInFile(file: string): Promise<ReadonlyMap<string, WithheldName>> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw unreadable(file, messageOf(cause));
  }
  const names = new Map<string, WithheldName>();
  for (const line of text.split('\n')) {
    const [word = ''] = line.trim().split(/\s/);
    if (word === '' || word.startsWith('#')) continue;
    const { versionHash, hashType } = parseNamedHash(word);
    for (const type of hashType === null ? HASH_TYPES : [hashType]) names.set(`${type}/${versionHash}`, { at: null });
  }
  return names;
}

function unreadable(source: string, why: string): StorageError {
  return new StorageError('storage/fault', `What ${source} withholds cannot be read: ${why}.`, {
    details: { source },
    retryable: true,
    hint: 'Let this reader list and read audit/ there; until it can, it does not serve.',
  });
}
