import { expect, onTestFinished, test, vi } from 'vitest';
import { withheldPath } from '../../../src/catalog/withheld-document.ts';
import type { ContentName } from '../../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { StatelessWatch } from '../../../src/reading/stateless/stateless-watch.ts';
import { WithheldNames } from '../../../src/reading/stateless/withheld-names.ts';
import type { ObjectReader } from '../../../src/storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../../../src/storage/record-path.ts';
import { refusal } from '../../replication/memory-backend.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';

const FIRST = nameOf(sampleBlob('withheld first', 10));
const SECOND = nameOf(sampleBlob('withheld second', 10));
const AT = '2026-01-01T00:00:00.000Z';
/** A wait that is over as soon as something else can run. */
const IMPATIENT = AbortSignal.abort();

function pathOf(name: ContentName): RecordPath {
  return parseRecordPath(`audit/another/${withheldPath(name)}`);
}

/** Records of another archiver on a backend, which gives them when `before` lets it. */
function scene() {
  const texts = new Map<RecordPath, string | null>();
  const gate = { before: async () => {} };
  const store: ObjectReader = {
    id: 's3',
    async *list() {
      await gate.before();
      for (const path of texts.keys()) yield { path, sizeBytes: 1 };
    },
    async get(key) {
      const text = texts.get(parseRecordPath(String(key))) ?? null;
      return text === null ? null : new TextEncoder().encode(text);
    },
  };
  const withhold = (name: ContentName, revokedAt: string | null = null) => {
    texts.set(pathOf(name), JSON.stringify({ format: 1, ...name, reason: 'an order', at: AT, revokedAt }));
  };
  const names = new WithheldNames({ stores: [store], file: null });
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const watch = new StatelessWatch([], names, null, conditions);
  const codes = () => conditions.all().map(({ code }) => code);
  return { texts, gate, store, withhold, names, watch, codes };
}

test('records that take longer to read than a question may last are read to their end', async () => {
  const { gate, withhold, names, watch, codes } = scene();
  const over = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(over.signal);
  onTestFinished(() => void vi.restoreAllMocks());
  withhold(FIRST);
  await watch.look(NEVER);
  expect([names.refusal(FIRST)?.kind, names.refusal(SECOND), codes()]).toEqual(['withheld', null, []]);

  const reading = Promise.withResolvers<void>();
  gate.before = () => reading.promise;
  withhold(SECOND);
  over.abort();
  for (let looks = 0; looks < 4; looks += 1) await watch.look(NEVER);
  expect(codes()).toEqual([]);
  await watch.look(NEVER);
  expect(codes()).toEqual(['reader/withheld-late']);
  expect(names.refusal(FIRST)?.kind).toBe('withheld');
  reading.resolve();
  await names.refresh(NEVER, NEVER);
  expect(names.refusal(SECOND)?.kind).toBe('withheld');
  await watch.look(NEVER);
  expect(codes()).toEqual([]);
});

test('nothing is served before the first reading has ended, however long it takes', async () => {
  const { gate, withhold, names } = scene();
  const reading = Promise.withResolvers<void>();
  gate.before = () => reading.promise;
  withhold(FIRST);
  expect((await names.refresh(NEVER, IMPATIENT)).size).toBe(0);
  expect([names.unread, names.refusal(SECOND)?.kind]).toEqual([['s3'], 'unavailable']);
  reading.resolve();
  await names.refresh(NEVER, NEVER);
  expect([names.unread, names.refusal(SECOND), names.refusal(FIRST)?.kind]).toEqual([[], null, 'withheld']);
});

test('a reading that failed is told until one succeeds, and what was known stays in force', async () => {
  const { gate, withhold, names, watch, codes } = scene();
  withhold(FIRST);
  await watch.look(NEVER);
  gate.before = async () => {
    throw refusal('s3');
  };
  await watch.look(NEVER);
  expect([codes(), names.refusal(FIRST)?.kind]).toEqual([['storage/unreachable'], 'withheld']);
  gate.before = async () => {};
  withhold(FIRST, AT);
  await watch.look(NEVER);
  expect([codes(), names.refusal(FIRST)]).toEqual([[], null]);
});

test('a record that is listed and not given is in force', async () => {
  const { texts, withhold, names } = scene();
  withhold(FIRST, AT);
  await names.refresh(NEVER, NEVER);
  expect(names.refusal(FIRST)).toBeNull();
  texts.set(pathOf(FIRST), null);
  await names.refresh(NEVER, NEVER);
  expect(names.refusal(FIRST)?.kind).toBe('withheld');
  texts.delete(pathOf(FIRST));
  await names.refresh(NEVER, NEVER);
  expect(names.refusal(FIRST)).toBeNull();
});

test('a revoked record that is replaced while it is read withholds nothing', async () => {
  const { store, withhold, names } = scene();
  withhold(FIRST, AT);
  const { get } = store;
  store.get = async () => {
    store.get = get;
    return null;
  };
  await names.refresh(NEVER, NEVER);
  expect(names.refusal(FIRST)).toBeNull();
});
