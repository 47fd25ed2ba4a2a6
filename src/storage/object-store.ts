import type { ProbeFinding } from './probe.ts';
import type { RecordPath } from './record-path.ts';

/** What an object is, and by that how its bytes are verified: the caller does that, never the store. */
export type ObjectKind = 'record' | 'evidence';

/** A small document under a path of its own: an occurrence record below `occurrences/`, evidence below `audit/`. */
export interface Document {
  readonly path: RecordPath;
  readonly text: string;
}

/** Names one object. The key says of which kind the object is. */
export type ObjectKey = RecordPath;

/** Bytes that may be put, each with the key that it lies under. */
export type NewObject = Document;

/** Documents whose path begins with `below`, which ends in `/`: `occurrences/keccak256/<version hash>/`. */
export interface DocumentRange {
  readonly below: string;
}

export interface ListedDocument {
  readonly path: RecordPath;
  readonly sizeBytes: number;
}

/**
 * `create` writes where nothing is, and leaves alone what lies there, right or wrong. `replace` makes sure that these bytes
 * lie there, and writes nothing where they do.
 */
export type PutMode = 'create' | 'replace';

/** How one store differs from the others. Callers ask these, and never which store it is. */
export interface StoreProperties {
  /** Kinds that the store takes. It is never asked for another kind. */
  readonly holds: ReadonlySet<ObjectKind>;
}

/**
 * One place where objects lie: a bucket, a Kubo, the data folder. Every call may throw `StorageError`; an abort rejects with
 * the signal's reason. `null` is only ever the store's positive answer that it has not got the object: a fault throws.
 * Nothing that a store gives is proven: the caller verifies it by the kind of the object.
 */
export interface ObjectStore {
  /** Stable name, for records and messages: `local`, `s3`. */
  readonly id: string;
  readonly properties: StoreProperties;
  /** Resolves when the object is durable. Repeating it is harmless. */
  put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void>;
  get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null>;
  /** In the order of paths. */
  list(range: DocumentRange, signal: AbortSignal): AsyncIterable<ListedDocument>;
  /** Deleting what is not there is no error. `storage/locked` where an object lock forbids it. */
  delete(key: ObjectKey, signal: AbortSignal): Promise<void>;
  /** Never throws for what the backend does; an abort rejects with the signal's reason. Leaves nothing behind. */
  probe(signal: AbortSignal): Promise<readonly ProbeFinding[]>;
}

/** Enough to look for documents. */
export type DocumentReader = Pick<ObjectStore, 'id' | 'get' | 'list'>;

export const DOCUMENT_KINDS: ReadonlySet<ObjectKind> = new Set(['record', 'evidence']);

/** The kind that a key names. */
export function kindOf(key: ObjectKey): ObjectKind {
  return key.startsWith('occurrences/') ? 'record' : 'evidence';
}

/** The text of one document; null: the store has not got it. */
export async function readText(
  store: Pick<ObjectStore, 'get'>,
  path: RecordPath,
  signal: AbortSignal,
): Promise<string | null> {
  const bytes = await store.get(path, signal);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}
