import {
  keyOf,
  kindOf,
  type ListedObject,
  type NewObject,
  type ObjectKey,
  type ObjectKind,
  type ObjectRange,
  type ObjectStore,
  type PurgeTarget,
  type PutMode,
  type StoreProperties,
} from './object-store.ts';
import type { ProbeFinding } from './probe.ts';

/** One question to a store. Listings, which come in pages, and probes are none. */
export interface StoreQuestion {
  readonly operation: 'put' | 'get' | 'stat' | 'delete';
  readonly kind: ObjectKind;
  /** Bytes that go there with the question. */
  readonly sentBytes: number;
}

/** Passes a question on, or throws instead; sees what comes of it. */
export type AroundQuestion = <T>(question: StoreQuestion, ask: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** The same store behind one more duty: a count, a breaker, a gate. Each duty is written once, for every store. */
export class StoreAround implements ObjectStore {
  readonly id: string;
  readonly properties: StoreProperties;
  readonly #store: ObjectStore;
  readonly #around: AroundQuestion;

  constructor(store: ObjectStore, around: AroundQuestion) {
    this.id = store.id;
    this.properties = store.properties;
    this.#store = store;
    this.#around = around;
  }

  get clockOffsetMs(): number | null {
    return this.#store.clockOffsetMs;
  }

  put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    const sentBytes = 'bytes' in object ? object.bytes.length : object.text.length;
    const question = { operation: 'put', kind: kindOf(keyOf(object)), sentBytes } as const;
    return this.#around(question, () => this.#store.put(object, mode, signal), signal);
  }

  get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    return this.#around(about('get', key), () => this.#store.get(key, signal), signal);
  }

  stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    return this.#around(about('stat', key), () => this.#store.stat(key, signal), signal);
  }

  isKept(key: ObjectKey, signal: AbortSignal): Promise<boolean> {
    return this.#store.isKept(key, signal);
  }

  list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    return this.#store.list(range, signal);
  }

  delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    return this.#around(about('delete', key), () => this.#store.delete(key, signal), signal);
  }

  purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    const kind = 'customOf' in target ? 'custom' : 'blob';
    const question = { operation: 'delete', kind, sentBytes: 0 } as const;
    return this.#around(question, () => this.#store.purge(target, signal), signal);
  }

  probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return this.#store.probe(signal);
  }

  freeBytes(signal: AbortSignal): Promise<number | null> {
    return this.#store.freeBytes(signal);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function about(operation: StoreQuestion['operation'], key: ObjectKey): StoreQuestion {
  return { operation, kind: kindOf(key), sentBytes: 0 };
}
