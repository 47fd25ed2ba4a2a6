import type { ContentName } from '../core/blob/ids.ts';
import type { BlobStore } from '../storage/blob-store.ts';
import type { ChainBinding } from '../storage/chain-binding.ts';
import type { CustomStore } from '../storage/custom-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { PlaceMarks } from '../storage/place-marks.ts';
import type { ProbedStore } from '../storage/probe.ts';

/** A store behind a network. One with names (S3) is bound to a chain and holds records as well; one without (IPFS) not. */
export interface RemoteStore extends BlobStore, ProbedStore, Partial<ChainBinding>, Partial<CustomStore> {
  /** Records and evidence; null: a backend without names (IPFS) takes none. */
  readonly documents: ObjectStore | null;
  /** Copies what lies there beside it, before it is replaced. Gives where it went, null when nothing lies there. */
  setAside?(name: ContentName, signal: AbortSignal): Promise<string | null>;
  readonly marks?: PlaceMarks;
  /** The clock of the server as its last answer told it, minus ours; null before there was one. */
  readonly clockOffsetMs?: number | null;
}

/** A backend that is configured. */
export interface Backend {
  readonly id: string;
  /** Server, bucket and path, without secrets: under the same name at another place it is another backend. */
  readonly place: string;
  readonly store: RemoteStore;
  /** The same place over connections of their own: what a bad line or a stale cache said is asked again there. */
  readonly openAgain: () => Promise<RemoteStore>;
}
