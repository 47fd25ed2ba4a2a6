import { expect, test } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { watchedStore } from '../../src/storage/metrics.ts';
import { parseRecordPath } from '../../src/storage/record-path.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { MemoryStore } from './memory-store.ts';

test('counts each question by its operation and kind, bytes of blobs, and what fails by its code', async () => {
  const told: string[] = [];
  let isAway = false;
  const plain = new (class extends MemoryStore {
    override async put(...words: Parameters<MemoryStore['put']>): Promise<void> {
      if (isAway) throw new TypeError('away');
      await super.put(...words);
    }
  })('memory');
  const watch = {
    asked: (id: string, operation: string) => told.push(`${id} asked ${operation}`),
    failed: (id: string, operation: string, code: string) => told.push(`${id} failed ${operation} ${code}`),
    moved: (id: string, direction: string, bytes: number) => told.push(`${id} ${direction} ${bytes}`),
  };
  const store = watchedStore(plain, watch, SYSTEM_CLOCK);
  const blob = sampleBlob('counted', 100);
  const path = parseRecordPath('audit/a/1.json');
  for (const mode of ['create', 'replace'] as const) await store.put(blob, mode, NEVER);
  await store.get(nameOf(blob), NEVER);
  await store.purge(nameOf(blob), NEVER);
  await store.put({ path, text: '{}' }, 'replace', NEVER);
  expect(told).toEqual([
    'memory asked put',
    'memory sent 100',
    'memory asked put',
    'memory sent 100',
    'memory asked get',
    'memory received 100',
    'memory asked delete',
    'memory asked putRecord',
  ]);
  told.length = 0;
  isAway = true;
  await expect(store.put(blob, 'create', NEVER)).rejects.toThrow('away');
  const aborted = AbortSignal.abort(new Error('enough'));
  await expect(store.put(blob, 'create', aborted)).rejects.toThrow('away');
  expect(told).toEqual(['memory asked put', 'memory failed put unexpected']);
});
