import {
  type ContentName,
  type CustomBytes,
  type CustomName,
  parseVersionHash,
  type VersionHash,
} from '../core/blob/ids.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { ProbeFinding } from './probe.ts';
import type { RecordPath } from './record-path.ts';

/**
 * Kind of an object, which decides how the caller verifies its bytes; a store never does. `binding` names the chain of
 * a store. A `mark` exists only while two addresses are compared to see whether they name one place.
 */
export type ObjectKind = 'blob' | 'custom' | 'record' | 'evidence' | 'binding' | 'mark';

export type { CustomBytes, CustomName } from '../core/blob/ids.ts';

export const BINDING = 'holdfast.json';
export type MarkPath = `probe/place-${string}`;
export type DocumentPath = RecordPath | typeof BINDING | MarkPath;

/** A small text under a path of its own: an occurrence record below `occurrences/`, evidence below `audit/`. */
export interface Document {
  readonly path: DocumentPath;
  readonly text: string;
}

/** Names one object: a blob, custom bytes, or a document. */
export type ObjectKey = ContentName | CustomName | DocumentPath;

/** An object that may be put, with its key. Bytes of a blob were hashed, or they are no `VerifiedBlob`. */
export type NewObject = VerifiedBlob | CustomBytes | Document;

/** The custom bytes of one version hash, or of all (null). */
export interface CustomRange {
  readonly customOf: VersionHash | null;
}

/** Documents whose path begins with `below`, which ends in `/`: `occurrences/keccak256/<version hash>/`. */
export interface DocumentRange {
  readonly below: string;
}

export type ObjectRange = 'blobs' | CustomRange | DocumentRange;

/** A store's claim to hold a blob. It proves nothing until the bytes are fetched and hashed. */
export interface ListedBlob extends ContentName {
  /** null: the listing has no sizes, and each would cost a question of its own (Kubo). */
  readonly sizeBytes: number | null;
  /** The layout names the hash only (Sentinel's): `hashType` is the likely one; join on the version hash alone. */
  readonly hashTypeUnsaid?: true;
}

export interface ListedCustom extends CustomName {
  readonly sizeBytes: number;
}

export interface ListedDocument {
  readonly path: RecordPath;
  readonly sizeBytes: number;
}

export type ListedObject = ListedBlob | ListedCustom | ListedDocument;

/** All that a purge can be told to delete: one blob, or every custom bytes of one version hash. */
export type PurgeTarget = ContentName | { readonly customOf: VersionHash };

/**
 * `create` writes only where no object exists and leaves an existing one alone, right or wrong: the read-back tells.
 * `replace` makes sure that these bytes are stored. Other bytes of a blob or custom object are copied aside where the
 * store has names for that. The key is never absent meanwhile.
 */
export type PutMode = 'create' | 'replace';

/** Differences between stores. Callers ask for these properties and never for the kind of store. */
export interface StoreProperties {
  /** Kinds that the store takes. It is never asked for another kind. */
  readonly holds: ReadonlySet<ObjectKind>;
  /** An object can be there without being kept for good (Kubo: not pinned). `stat` has null for it then. */
  readonly pins: boolean;
  /** Naming and encoding of blobs, as `holdfast.json` records them. */
  readonly layout: Layout;
  /** Address of the store for messages, without credentials. */
  readonly where: string;
}

export const LAYOUTS = ['holdfast', 'sentinel'] as const;
/** Raw bytes under a template, or Sentinel's hex text under the bare version hash. */
export type Layout = (typeof LAYOUTS)[number];

/**
 * One place where objects lie: a bucket, a Kubo, the data folder. Every call may throw `StorageError`; an abort rejects with
 * the signal's reason. `null` is only ever the store's positive answer that it has not got the object: a fault throws.
 * Nothing that a store gives is proven: the caller verifies it by the kind of the object.
 */
export interface ObjectStore {
  /** Stable name, for records and messages: `local`, `s3`. */
  readonly id: string;
  readonly properties: StoreProperties;
  /** The clock of the server as its last answer told it, minus ours; null where no answer told it. */
  readonly clockOffsetMs: number | null;
  /** Resolves when the object is durable: neither `kill -9` nor power loss takes it back. Repeating it is harmless. */
  put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void>;
  get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null>;
  /** null also for what is there and not kept for good: see `pins`. */
  stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null>;
  /** Whether what is there is also kept for good, without reading it: Kubo reads a whole block to tell its size. */
  isKept(key: ObjectKey, signal: AbortSignal): Promise<boolean>;
  /** Objects of the kind that the range names, and no others: see `listBlobs` and its like. Custom bytes and documents come in the order of paths. */
  list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject>;
  /** Deleting what is not there is no error. `storage/locked` where an object lock forbids it. */
  delete(key: ObjectKey, signal: AbortSignal): Promise<void>;
  /**
   * Deletes also what `delete` leaves where a store keeps more: older versions, copies set aside. false: there was nothing.
   * `storage/locked` where a lock forbids it; what is not locked is deleted all the same.
   */
  purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean>;
  /** Never throws for what the backend does; an abort rejects with the signal's reason. Leaves nothing behind. */
  probe(signal: AbortSignal): Promise<readonly ProbeFinding[]>;
  /** Free bytes on the disk of the store. null: the store does not tell (S3 has no question for it). */
  freeBytes(signal: AbortSignal): Promise<number | null>;
  close(): Promise<void>;
}

/** Enough to look for objects. */
export type ObjectReader = Pick<ObjectStore, 'id' | 'get' | 'list'>;

export function keyOf(object: NewObject): ObjectKey {
  return 'path' in object ? object.path : object;
}

/** The kind that a key names. */
export function kindOf(key: ObjectKey): ObjectKind {
  if (typeof key !== 'string') return isCustom(key) ? 'custom' : 'blob';
  if (key === BINDING) return 'binding';
  if (isMark(key)) return 'mark';
  return key.startsWith('occurrences/') ? 'record' : 'evidence';
}

export function isCustom(key: ContentName | CustomName): key is CustomName {
  return 'keccak' in key;
}

export function isMark(path: DocumentPath): path is MarkPath {
  return path.startsWith('probe/place-');
}

const CUSTOM_PATH = /^custom\/([0-9a-f]{64})\/([0-9a-f]{64})$/;

/** Path of custom bytes below the root of a folder or a bucket. */
export function customPath({ versionHash, keccak }: CustomName): string {
  return `custom/${versionHash}/${keccak}`;
}

/** null: what else lies there is not ours. */
export function customNameOf(path: string): CustomName | null {
  const [, versionHash, keccak] = CUSTOM_PATH.exec(path) ?? [];
  if (versionHash === undefined || keccak === undefined) return null;
  return { versionHash: parseVersionHash(versionHash), keccak: parseVersionHash(keccak) };
}

type Lister = Pick<ObjectStore, 'list'>;

export async function* listBlobs(store: Lister, signal: AbortSignal): AsyncIterable<ListedBlob> {
  for await (const entry of store.list('blobs', signal)) if ('hashType' in entry) yield entry;
}

export async function* listCustom(
  store: Lister,
  customOf: VersionHash | null,
  signal: AbortSignal,
): AsyncIterable<ListedCustom> {
  for await (const entry of store.list({ customOf }, signal)) if ('keccak' in entry) yield entry;
}

/** Below a path that ends in `/`: `occurrences/keccak256/<version hash>/`. */
export async function* listDocuments(store: Lister, below: string, signal: AbortSignal): AsyncIterable<ListedDocument> {
  for await (const entry of store.list({ below }, signal)) if ('path' in entry) yield entry;
}

/** The text of one document; null: the store has not got it. */
export async function readText(
  store: Pick<ObjectStore, 'get'>,
  path: DocumentPath,
  signal: AbortSignal,
): Promise<string | null> {
  const bytes = await store.get(path, signal);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}
