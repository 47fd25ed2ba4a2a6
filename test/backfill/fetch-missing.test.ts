import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BackfillEvent } from '../../src/backfill/backfill-report.ts';
import { FetchMissing } from '../../src/backfill/fetch-missing.ts';
import { FetchTally } from '../../src/backfill/fetch-tally.ts';
import { MissingInRange } from '../../src/backfill/missing-in-range.ts';
import { OwnPlaces } from '../../src/backfill/own-places.ts';
import type { BackfillSource, SourceAnswer } from '../../src/backfill/source/backfill-source.ts';
import { SourceError } from '../../src/backfill/source/errors.ts';
import { VerifiedSource } from '../../src/backfill/verified-source.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ArchiveError } from '../../src/core/archive-errors.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { type ContentName, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { Spooler } from '../../src/ingest/spooler.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { Bandwidth } from '../../src/replication/bandwidth.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const START = 100;
const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const hashOf = (height: number) => parseBlockHash(hex(`block ${height}`));
const BLOBS = Array.from({ length: 12 }, (_, index) =>
  sampleBlob(`backfill ${index}`, 50 + index, index % 2 === 0 ? 'keccak256' : 'blake2s256'),
);
const keyOf = ({ hashType, versionHash }: ContentName) => `${hashType}/${versionHash}`;

/** Every blob twice on chain, all of it history. */
function catalogWithHistory(leftOut: readonly VerifiedBlob[]): Catalog {
  const kept = new Set(BLOBS.filter((blob) => !leftOut.includes(blob)).map(({ versionHash }) => versionHash));
  const catalog = openCatalog({ rule: new ArchiveRule({ maxBlobBytes: null, allowed: kept }) });
  catalog.noteListed(
    leftOut.map(({ versionHash, bytes }) => {
      return { versionHash, sizeBytes: bytes.length, txid: null, medianTimeSeconds: START };
    }),
  );
  const block = (height: number, blobs: readonly VerifiedBlob[]) => ({
    height,
    hash: hashOf(height),
    previousHash: hashOf(height - 1),
    timeSeconds: height * 150,
    medianTimeSeconds: height * 150,
    unclear: [],
    occurrences: blobs.map(({ hashType, versionHash }, transactionIndex) => ({
      ...{ hashType, versionHash, transactionIndex, vout: 0 },
      txid: parseTxId(hex(`${versionHash} ${height}`)),
      makeRecord: () => '{}',
    })),
  });
  catalog.chain.recordStart(START);
  const tip = { ...block(START, []), timeSeconds: 1_000_000, medianTimeSeconds: 1_000_000 };
  catalog.chain.recordBlocks([tip], () => false);
  catalog.chain.recordHistory([block(START - 2, BLOBS), block(START - 1, BLOBS)]);
  return catalog;
}

type Manner = 'gives' | 'absent' | 'withheld' | 'lies' | 'fails' | 'hex';
const MANNERS: readonly Manner[] = ['gives', 'absent', 'withheld', 'lies', 'fails', 'hex'];

/** A source that does with each blob what the run says; asked for what it gave before, it remembers that. */
function sourceThat(name: string, manners: readonly Manner[], asked: Map<string, number>): BackfillSource {
  const answer = (content: ContentName): SourceAnswer => {
    const index = BLOBS.findIndex((blob) => keyOf(blob) === keyOf(content));
    const bytes = BLOBS[index]?.bytes ?? new Uint8Array();
    switch (manners[index] ?? 'absent') {
      case 'gives':
        asked.set(keyOf(content), (asked.get(keyOf(content)) ?? 0) + 1);
        return { kind: 'bytes', candidates: [bytes.slice()] };
      case 'hex':
        return { kind: 'bytes', candidates: [Buffer.from('nonsense'), bytes.slice()] };
      case 'lies':
        return { kind: 'bytes', candidates: [bytes.slice(1)] };
      case 'fails':
        throw new SourceError('source/denied', `${name} does not say.`, { retryable: false, hint: '' });
      case 'absent':
      case 'withheld':
        return { kind: manners[index] === 'withheld' ? 'withheld' : 'absent' };
    }
  };
  return { name, find: async (content) => answer(content), size: async () => 'unknown', close: async () => {} };
}

interface Scene {
  readonly catalog: Catalog;
  readonly stored: Map<string, Uint8Array>;
  readonly store: LocalStore;
  run(sources: readonly BackfillSource[], signal?: AbortSignal): Promise<FetchTally>;
  readonly events: BackfillEvent[];
}

async function scene(
  afterEach: () => void = () => {},
  leftOut: readonly VerifiedBlob[] = [],
  beforeEach: (blob: VerifiedBlob) => void = () => {},
): Promise<Scene> {
  const catalog = catalogWithHistory(leftOut);
  const store = await LocalStore.open(temporaryFolder());
  const stored = new Map<string, Uint8Array>();
  const verifier = {
    verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, nobleHasher),
  };
  const spooler: Pick<Spooler, 'spool'> = {
    async spool(blob, seen) {
      beforeEach(blob);
      stored.set(keyOf(blob), blob.bytes.slice());
      catalog.recordSpooled([{ ...seen, hashType: blob.hashType, versionHash: blob.versionHash }]);
      afterEach();
    },
  };
  const events: BackfillEvent[] = [];
  return {
    catalog,
    stored,
    store,
    events,
    async run(sources, signal = NEVER) {
      const report = (event: BackfillEvent) => void events.push(event);
      const range = new MissingInRange({ from: START - 2, to: START }, catalog);
      const tally = new FetchTally(await range.count(signal), report, SYSTEM_CLOCK);
      const fetching = new FetchMissing({
        ...{ losses: null, spooler, tally },
        own: new OwnPlaces(store, [], catalog, verifier, new BlobCache(0, SYSTEM_CLOCK), { isDone: true }),
        sources: sources.map((source) => new VerifiedSource(source, verifier, report, SYSTEM_CLOCK)),
        bandwidth: new Bandwidth(null, SYSTEM_CLOCK),
      });
      await fetching.run(range.all(signal), 3, signal);
      return tally;
    },
  };
}

const ofAll = (manner: Manner): Manner[] => BLOBS.map(() => manner);
const answering = fc.array(fc.constantFrom(...MANNERS.filter((manner) => manner !== 'fails')), {
  minLength: BLOBS.length,
  maxLength: BLOBS.length,
});

describe('fetching from sources', () => {
  test('each content once, however often it is on chain, from the first who has it', async () => {
    const asked = new Map<string, number>();
    const { run, stored } = await scene();
    const first = sourceThat('first', ofAll('absent').with(0, 'gives'), asked);
    const { outcome } = await run([first, sourceThat('second', ofAll('gives'), asked)]);
    expect(outcome).toMatchObject({ fetched: BLOBS.length, missingCount: 0, unaskedCount: 0 });
    expect([...asked.values()].every((times) => times === 1)).toBe(true);
    expect(stored.size).toBe(BLOBS.length);
  });

  test('a blob that lies here without a row and has no place now is reported, and ends nothing', async () => {
    const [orphan] = BLOBS;
    if (orphan === undefined) throw new Error('There are twelve.');
    const refused = (blob: VerifiedBlob) => {
      if (keyOf(blob) !== keyOf(orphan)) return;
      throw new ArchiveError('archive/no-place', 'No place takes it.', { details: {}, retryable: true, hint: '' });
    };
    const { run, stored, store } = await scene(undefined, undefined, refused);
    await store.put(orphan, 'create', NEVER);
    const { outcome } = await run([sourceThat('one', ofAll('gives'), new Map())]);
    expect(outcome).toMatchObject({ fetched: BLOBS.length - 1, missingCount: 0, unaskedCount: 1 });
    expect(stored.size).toBe(BLOBS.length - 1);
  });

  test('only proven bytes are kept, whatever sources answer, and the report is exactly what happened', async () => {
    await fc.assert(
      fc.asyncProperty(answering, answering, async (one, two) => {
        const { run, stored } = await scene();
        const { outcome } = await run([sourceThat('one', one, new Map()), sourceThat('two', two, new Map())]);
        const has = (index: number) =>
          [one[index], two[index]].some((manner) => manner === 'gives' || manner === 'hex');
        const expected = BLOBS.filter((_, index) => has(index));
        expect([...stored.keys()].sort()).toEqual(expected.map(keyOf).sort());
        for (const blob of expected)
          expect(Buffer.compare(stored.get(keyOf(blob)) ?? Buffer.alloc(0), blob.bytes)).toBe(0);
        expect(outcome).toMatchObject({
          fetched: expected.length,
          missingCount: BLOBS.length - expected.length,
          unaskedCount: 0,
        });
      }),
      { numRuns: 40 },
    );
  });

  test('stopped anywhere and begun again: nothing that was kept is asked for again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: BLOBS.length }), async (stopAfter) => {
        const stopping = new AbortController();
        const asked = new Map<string, number>();
        let kept = 0;
        const { run, stored } = await scene(() => {
          kept += 1;
          if (kept === stopAfter) stopping.abort('stopped');
        });
        await run([sourceThat('one', ofAll('gives'), asked)], stopping.signal).catch((error: unknown) => {
          expect(error).toBe('stopped');
        });
        const before = new Map([...asked].filter(([key]) => stored.has(key)));
        await run([sourceThat('one', ofAll('gives'), asked)]);
        for (const [key, times] of before) expect(asked.get(key)).toBe(times);
        expect(stored.size).toBe(BLOBS.length);
      }),
      { numRuns: 20 },
    );
  });

  test('a fault is no answer: what only a silent source may have is unasked, and not missing', async () => {
    const { run } = await scene();
    const silent = ofAll('absent').with(3, 'fails');
    const { outcome } = await run([
      sourceThat('silent', silent, new Map()),
      sourceThat('poor', ofAll('absent'), new Map()),
    ]);
    expect(outcome).toMatchObject({ fetched: 0, missingCount: BLOBS.length - 1, unaskedCount: 1 });
    expect(outcome.unasked[0]?.answers).toMatchObject([{ answered: 'no-answer' }, { answered: 'absent' }]);
  });

  test('a blob that a rule left out is asked for, and is not missing where no source has it', async () => {
    const [here, nowhere] = BLOBS.slice(0, 2);
    if (here === undefined || nowhere === undefined) throw new Error('There are no blobs.');
    const { run, stored, events } = await scene(() => {}, [here, nowhere]);
    const { outcome } = await run([sourceThat('one', ofAll('gives').with(1, 'absent'), new Map())]);
    expect(outcome).toMatchObject({ fetched: BLOBS.length - 1, missingCount: 0, unaskedCount: 0, leftOutCount: 1 });
    expect(stored.has(keyOf(here))).toBe(true);
    expect(events.at(-1)).toMatchObject({ done: BLOBS.length, wanted: BLOBS.length, missing: 0 });
    // A source that does not answer may have it.
    const again = await run([sourceThat('silent', ofAll('fails'), new Map())]);
    expect(again.outcome).toMatchObject({ leftOutCount: 0, unaskedCount: 1 });
  });

  test('a blob that is left out no more while its sources are asked is missing where no source has it', async () => {
    const [blob] = BLOBS;
    if (blob === undefined) throw new Error('There are no blobs.');
    const { run, catalog } = await scene(() => {}, [blob]);
    const poor = sourceThat('poor', ofAll('gives').with(0, 'absent'), new Map());
    const find: BackfillSource['find'] = async (content, signal) => {
      if (content.versionHash === blob.versionHash) catalog.leftOut.letIn(blob);
      return await poor.find(content, signal);
    };
    const { outcome } = await run([{ ...poor, find }]);
    expect(outcome).toMatchObject({ fetched: BLOBS.length - 1, missingCount: 1, leftOutCount: 0 });
  });

  test('withheld content is not looked for', async () => {
    const { run, catalog } = await scene();
    const [first] = BLOBS;
    if (first === undefined) throw new Error('no blob');
    const { hashType, versionHash } = first;
    catalog.withheld.record(
      [{ hashType, versionHash, archiver: 'a', publicReason: null, reason: 'told to', atMs: 1, purge: false }],
      false,
    );
    const asked = new Map<string, number>();
    const { outcome } = await run([sourceThat('one', ofAll('gives'), asked)]);
    expect(outcome.fetched).toBe(BLOBS.length - 1);
    expect(asked.has(keyOf(first))).toBe(false);
  });
});
