import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../core/blob/errors.ts';
import type { MetricsRegistry } from '../core/observability/metrics.ts';
import { aroundStore } from './around-store.ts';
import type { BlobStore } from './blob-store.ts';
import type { ObjectStore } from './object-store.ts';

/** Notes what one question to a backend came to. `code` of an error: stable, from a closed list. */
export interface BackendWatch {
  asked(backend: string, operation: string, seconds: number): void;
  failed(backend: string, operation: string, code: string): void;
  moved(backend: string, direction: 'sent' | 'received', bytes: number): void;
}

export function declareBackendMetrics(metrics: MetricsRegistry): BackendWatch {
  const duration = metrics.histogram({
    name: 'holdfast_backend_operation_duration_seconds',
    help: 'Questions to each backend by operation, failed ones included; those that we gave up are not counted.',
    labels: ['backend', 'operation'],
  });
  const errors = metrics.counter({
    name: 'holdfast_backend_errors_total',
    help: 'Questions to each backend that failed, by the code of the error.',
    labels: ['backend', 'operation', 'code'],
  });
  const bytes = metrics.counter({
    name: 'holdfast_backend_bytes_total',
    help: 'Bytes of blobs that went to each backend and came from it.',
    labels: ['backend', 'direction'],
  });
  return {
    asked: (backend, operation, seconds) => duration.observe({ backend, operation }, seconds),
    failed: (backend, operation, code) => errors.inc({ backend, operation, code }),
    moved: (backend, direction, count) => bytes.inc({ backend, direction }, count),
  };
}

/** What each is counted as: a put is one whether it looks first or not. */
const WATCHED: ReadonlyMap<string, string> = new Map([
  ['put', 'put'],
  ['putUnseen', 'put'],
  ['get', 'get'],
  ['stat', 'stat'],
  ['delete', 'delete'],
  ['purge', 'delete'],
  ['setAside', 'setAside'],
  ['boundChain', 'boundChain'],
  ['bindTo', 'bindTo'],
]);

/** The same store, each question of which is noted. Listings, which come in pages, are not. */
export function watchedStore<Store extends BlobStore & { readonly documents: ObjectStore | null }>(
  store: Store,
  watch: BackendWatch,
): Store {
  const documents =
    store.documents === null
      ? null
      : aroundStore(store.documents, ({ operation }, ask, signal) =>
          noted(store.id, `${operation}Record`, [signal], ask, watch),
        );
  return new Proxy(store, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (key === 'documents') return documents;
      if (typeof member !== 'function') return member;
      // Bound: private fields are those of the store, not of what stands before it.
      const ask = (...words: unknown[]): unknown => Reflect.apply(member, target, words);
      const operation = typeof key === 'string' ? WATCHED.get(key) : undefined;
      if (operation === undefined) return ask;
      return (...words: unknown[]) => noted(target.id, operation, words, ask, watch);
    },
  });
}

async function noted<T>(
  backend: string,
  operation: string,
  words: unknown[],
  ask: (...words: unknown[]) => T | Promise<T>,
  watch: BackendWatch,
): Promise<T> {
  const begunMs = performance.now();
  const end = () => watch.asked(backend, operation, (performance.now() - begunMs) / 1_000);
  try {
    const answer = await ask(...words);
    end();
    if (operation === 'put') watch.moved(backend, 'sent', bytesIn(words[0]));
    if (operation === 'get') watch.moved(backend, 'received', bytesIn(answer));
    return answer;
  } catch (error) {
    const signal = words.at(-1);
    if (!(signal instanceof AbortSignal && signal.aborted)) {
      end();
      watch.failed(backend, operation, codeOf(error) ?? 'unexpected');
    }
    throw error;
  }
}

function bytesIn(blob: unknown): number {
  if (typeof blob !== 'object' || blob === null || !('bytes' in blob)) return 0;
  return blob.bytes instanceof Uint8Array ? blob.bytes.length : 0;
}

/** The volume of the data folder, looked at when it is asked for. */
export function declareVolumeMetrics(metrics: MetricsRegistry, dataDir: string): void {
  metrics.gauge({
    name: 'holdfast_disk_free_bytes',
    help: 'Free on the volume of the data folder, for this user.',
    read() {
      const { bavail, bsize } = statfsSync(dataDir);
      return [{ value: bavail * bsize }];
    },
  });
  metrics.gauge({
    name: 'holdfast_disk_size_bytes',
    help: 'Size of the volume of the data folder.',
    read() {
      const { blocks, bsize } = statfsSync(dataDir);
      return [{ value: blocks * bsize }];
    },
  });
  metrics.gauge({
    name: 'holdfast_catalog_bytes',
    help: 'Size of the catalog, with its write-ahead log.',
    read: () => [{ value: sizeOf(join(dataDir, 'catalog.sqlite')) + sizeOf(join(dataDir, 'catalog.sqlite-wal')) }],
  });
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
