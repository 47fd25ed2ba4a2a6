import { Worker } from 'node:worker_threads';
import type { HashType } from '../core/blob/ids.ts';
import { noteHandedOver, ownsMemory } from '../core/blob/lent-memory.ts';
import { hashWith } from '../verify/hasher.ts';
import {
  type Namer,
  nameElsewhere,
  type UnverifiedBlob,
  type VerifiedBlob,
  type Verifier,
  verifyBlobElsewhere,
} from '../verify/verified-blob.ts';
import { hashReply } from './hash-message.ts';
import type { NodeHasher } from './node-hasher.ts';

/** Blobs smaller than this are hashed on the main thread: a transfer would cost more than the hash. */
const WORTH_A_THREAD_BYTES = 131_072;
/** Milliseconds without work after which the thread ends: it has 8 MiB of its own, and starts in some dozens of milliseconds. */
const REST_MS = 600_000;
/** Milliseconds for which the main thread hashes after the thread failed. */
const RETRY_MS = 60_000;
/** Heap limits of the worker. Its blobs are array buffers, which lie outside the heap. */
const HEAP = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 } as const;
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './hash-worker.ts' : './hash-worker.js', import.meta.url);

export interface HashThreadOptions {
  /** Milliseconds without work after which the thread ends. Default: ten minutes. */
  readonly restMs?: number;
  /** Milliseconds after a failure until another thread is started. Default: one minute. */
  readonly retryMs?: number;
  /** Gets the cause of each failure. Large blobs are hashed on the main thread until `retryMs` have passed. */
  readonly onFailure?: (cause: unknown) => void;
}

interface Hashed {
  readonly digest: Uint8Array;
  readonly bytes: Uint8Array;
}

interface Waiting {
  readonly resolve: (hashed: Hashed) => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * Verifies large blobs on a worker thread. Hashing 2 MiB takes 4 ms, during which the main thread can receive the next
 * blob. The bytes move to the thread and back without a copy; the caller must not use its old view afterwards. The thread
 * starts with the first large blob, and ends when none comes for long.
 */
export class HashThread implements Verifier, Namer {
  readonly #hasher: NodeHasher;
  readonly #rest: NodeJS.Timeout;
  readonly #retryMs: number;
  readonly #onFailure: (cause: unknown) => void;
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  /** Ends the time in which the main thread hashes; null: the thread has not failed lately. */
  #retry: NodeJS.Timeout | null = null;
  #isStopped = false;
  #lastId = 0;

  /** `hasher` serves small blobs on the main thread, and every blob for a while after the thread has died. */
  constructor(hasher: NodeHasher, options: HashThreadOptions = {}) {
    const { restMs = REST_MS, retryMs = RETRY_MS, onFailure = () => {} } = options;
    this.#hasher = hasher;
    this.#retryMs = retryMs;
    this.#onFailure = onFailure;
    this.#rest = setTimeout(() => this.#endWhenIdle(), restMs).unref();
  }

  verify(candidate: UnverifiedBlob): Promise<VerifiedBlob | null> {
    return verifyBlobElsewhere(candidate, (hashType, bytes) => this.#hash(hashType, bytes));
  }

  name(hashType: HashType, bytes: Uint8Array): Promise<VerifiedBlob | null> {
    return nameElsewhere(hashType, bytes, (type, given) => this.#hash(type, given));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#rest);
    clearTimeout(this.#retry ?? undefined);
    const worker = this.#worker;
    this.#abandon(new Error('the hashing thread was stopped'));
    await worker?.terminate();
  }

  async #hash(hashType: HashType, bytes: Uint8Array): Promise<Hashed> {
    const isHere = this.#isStopped || this.#retry !== null;
    if (isHere || bytes.length < WORTH_A_THREAD_BYTES || !ownsMemory(bytes)) {
      return { digest: hashWith(this.#hasher, hashType, bytes), bytes };
    }
    this.#lastId += 1;
    const id = this.#lastId;
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return await new Promise((resolve, reject) => {
      // Throws for bytes that cannot be handed over: nothing waits for them.
      worker.postMessage({ id, hashType, bytes }, [bytes.buffer]);
      this.#waiting.set(id, { resolve, reject });
    });
  }

  #start(): Worker {
    const worker = this.#create();
    worker.on('message', (message: unknown) => this.#receive(message));
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#fail(error);
    });
    worker.on('exit', () => {
      if (worker === this.#worker) this.#fail(new Error('the hashing thread ended'));
    });
    // The worker alone does not keep the process alive.
    worker.unref();
    return worker;
  }

  #create(): Worker {
    try {
      return new Worker(SCRIPT, { workerData: this.#hasher.engines, resourceLimits: HEAP });
    } catch (cause) {
      this.#fail(cause);
      throw cause;
    }
  }

  #endWhenIdle(): void {
    if (this.#waiting.size > 0) {
      this.#rest.refresh();
      return;
    }
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
  }

  #receive(message: unknown): void {
    this.#rest.refresh();
    const reply = hashReply.parse(message);
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    noteHandedOver(reply.bytes);
    waiting?.resolve(reply);
  }

  #fail(cause: unknown): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
    }, this.#retryMs).unref();
    this.#abandon(cause);
    this.#onFailure(cause);
  }

  #abandon(cause: unknown): void {
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(cause);
    this.#waiting.clear();
  }
}
