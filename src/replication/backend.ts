import type { ObjectStore } from '../storage/object-store.ts';

/** A backend that is configured. */
export interface Backend {
  readonly id: string;
  /** Server, bucket and path, without secrets: under the same name at another place it is another backend. */
  readonly place: string;
  readonly store: ObjectStore;
  /** The same place over connections of their own: what a bad line or a stale cache said is asked again there. */
  readonly openAgain: () => Promise<ObjectStore>;
}
