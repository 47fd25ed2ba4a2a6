import { kindOf, type NewObject, type ObjectKey, type ObjectKind, type ObjectStore } from './object-store.ts';

/** One question to a store. Listings, which come in pages, and probes are none. */
export interface StoreQuestion {
  readonly operation: 'put' | 'get' | 'delete';
  readonly kind: ObjectKind;
}

/** Passes a question on, or throws instead; sees what comes of it. */
export type AroundQuestion = <T>(question: StoreQuestion, ask: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** The same store behind one more duty: a count, a breaker, a gate. Each is written once, for every store. */
export function aroundStore(store: ObjectStore, around: AroundQuestion): ObjectStore {
  const question = (operation: StoreQuestion['operation'], key: ObjectKey) => ({ operation, kind: kindOf(key) });
  return {
    id: store.id,
    properties: store.properties,
    put: (object: NewObject, mode, signal) =>
      around(question('put', object.path), () => store.put(object, mode, signal), signal),
    get: (key, signal) => around(question('get', key), () => store.get(key, signal), signal),
    list: (range, signal) => store.list(range, signal),
    delete: (key, signal) => around(question('delete', key), () => store.delete(key, signal), signal),
    probe: (signal) => store.probe(signal),
  };
}
