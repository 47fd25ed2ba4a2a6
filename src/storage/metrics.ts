import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../core/blob/errors.ts';
import type { MetricsRegistry } from '../core/observability/metrics.ts';
import type { Clock } from '../core/time/clock.ts';
import { StoreAround } from './around-store.ts';
import type { ObjectKind, ObjectStore } from './object-store.ts';

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

/** Label that counts calls for a kind of object, after the operation. */
const COUNTED_AS: Readonly<Record<ObjectKind, string>> = {
  blob: '',
  custom: 'Custom',
  record: 'Record',
  evidence: 'Record',
  binding: 'Binding',
  mark: 'Mark',
};

/** The same store, each question of which is noted; one that was given up is not. */
export function watchedStore(store: ObjectStore, watch: BackendWatch, clock: Pick<Clock, 'steadyMs'>): ObjectStore {
  return new StoreAround(store, async ({ operation, kind, sentBytes }, ask, signal) => {
    const counted = `${operation}${COUNTED_AS[kind]}`;
    const begunMs = clock.steadyMs();
    const end = () => watch.asked(store.id, counted, (clock.steadyMs() - begunMs) / 1_000);
    try {
      const answer = await ask();
      end();
      if (counted === 'put') watch.moved(store.id, 'sent', sentBytes);
      if (counted === 'get' && answer instanceof Uint8Array) watch.moved(store.id, 'received', answer.length);
      return answer;
    } catch (error) {
      if (!signal.aborted) {
        end();
        watch.failed(store.id, counted, codeOf(error) ?? 'unexpected');
      }
      throw error;
    }
  });
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
