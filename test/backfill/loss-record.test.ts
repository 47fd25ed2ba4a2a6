import { describe, expect, test } from 'vitest';
import type { EmptyAnswer, SourceAnswered } from '../../src/backfill/backfill-report.ts';
import { LossRecord } from '../../src/backfill/loss-record.ts';
import { OwnPlaces } from '../../src/backfill/own-places.ts';
import type { MissingContent } from '../../src/catalog/missing-contents.ts';
import { LossRule } from '../../src/chain/loss-rule.ts';
import type { RescueSource } from '../../src/chain/loss-search.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { Activity } from '../../src/view/activity.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { keyOf, MemoryBackend } from '../replication/memory-backend.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const BLOB = sampleBlob('nobody has it', 100);
const TXID = parseTxId('ab'.repeat(32));
const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const answers = (answered: EmptyAnswer): SourceAnswered[] => [
  { source: 'node one', answered: 'absent', why: null },
  { source: 'peer two', answered, why: null },
];

/** A content on chain, its deadline long over, with no node, backend or peer that has it. */
async function scene(peers: readonly RescueSource[] = [], isTakenOver = true, backend?: MemoryBackend) {
  const catalog = openCatalog();
  if (isTakenOver) catalog.evidence.recordTakenOver();
  const block = (height: number, medianTimeSeconds: number) => ({
    ...{
      height,
      hash: hash(height),
      previousHash: hash(height - 1),
      timeSeconds: medianTimeSeconds,
      medianTimeSeconds,
    },
    occurrences: [],
    unclear: [],
  });
  const place = { ...nameOf(BLOB), txid: TXID, vout: 0, transactionIndex: 1 };
  catalog.chain.recordStart(7);
  const first = { ...block(7, 1_000), occurrences: [{ ...place, makeRecord: () => '{}' }] };
  catalog.chain.recordBlocks([first, block(8, 1_000_000)], () => true);
  const store = await LocalStore.open(temporaryFolder());
  const verifier = {
    verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, nobleHasher),
  };
  const sites = backend === undefined ? [] : [new BackendHandle(backend, verifier, SYSTEM_CLOCK)];
  for (const site of sites) site.isAdmitted = true;
  const tip = { height: 8, hash: hash(8), medianTimeSeconds: 1_000_000, syncing: false };
  const poller = {
    state: { genesis: null, tip, lastAnswerMs: 1, sweptMs: 1, entries: 0 },
    isListCurrent: () => true,
    isListed: () => false,
  };
  const losses = new LossRecord({
    catalog,
    rule: new LossRule(catalog, poller, { isWalked: true }, new Activity(), { isIndexed: true }),
    chain: { isCurrent: true },
    own: new OwnPlaces(store, sites, catalog, verifier, new BlobCache(0, SYSTEM_CLOCK), { isDone: true }),
    peers,
    clock: { wallMs: () => 1_790_000_000_000, steadyMs: () => 0 },
  });
  const content: MissingContent = { ...place, height: 7, medianTimeSeconds: 1_000, isLeftOut: false };
  return { catalog, losses, content };
}

describe('a content that no source gave', () => {
  test.each(['absent', 'wrong-bytes'] as const)('is lost when the last of all answered: %s', async (answered) => {
    const { catalog, losses, content } = await scene();
    expect(await losses.judge(content, answers(answered), NEVER)).toBe(true);
    expect(catalog.losses.find(BLOB)?.answers.map(({ source }) => source)).toEqual([
      'store local',
      'node one',
      'peer two',
    ]);
  });

  test('is not lost before the data folder has told what a rule left out', async () => {
    const { catalog, losses, content } = await scene([], false);
    expect(await losses.judge(content, answers('absent'), NEVER)).toBe(false);
    expect(catalog.losses.count()).toBe(0);
  });

  test('is not lost while one who was asked has it, and may not give it out', async () => {
    const { catalog, losses, content } = await scene();
    expect(await losses.judge(content, answers('withheld'), NEVER)).toBe(false);
    expect(catalog.losses.count()).toBe(0);
  });

  test('is not lost while a backend has it without keeping it', async () => {
    const backend = new MemoryBackend('ipfs');
    backend.isPinned = () => false;
    backend.blobs.set(keyOf(BLOB), BLOB.bytes);
    const { catalog, losses, content } = await scene([], true, backend);
    expect(await losses.judge(content, answers('absent'), NEVER)).toBe(false);
    expect(catalog.losses.count()).toBe(0);
    backend.blobs.clear();
    expect(await losses.judge(content, answers('absent'), NEVER)).toBe(true);
  });

  test.each([
    ['has not got it', async () => null, ['store local', 'node one', 'peer two', 'peer three']],
    ['gives other bytes', async () => 'wrong-bytes' as const, ['store local', 'node one', 'peer two', 'peer three']],
    ['gives it', async () => ({ ...nameOf(BLOB), bytes: BLOB.bytes }), undefined],
    ['does not answer', async () => Promise.reject(new Error('no route')), undefined],
  ])('asks a configured peer that was no source of the run: one that %s', async (_says, find, asked) => {
    const { catalog, losses, content } = await scene([{ name: 'peer three', find }]);
    await losses.judge(content, answers('absent'), NEVER);
    expect(catalog.losses.find(BLOB)?.answers.map(({ source }) => source)).toEqual(asked);
  });

  test('does not ask a peer again that was a source of the run under another name', async () => {
    const find = async () => Promise.reject(new Error('It is asked twice.'));
    const { catalog, losses, content } = await scene([{ name: 'peer berlin', sourceName: 'peer two', find }]);
    await losses.judge(content, answers('absent'), NEVER);
    expect(catalog.losses.find(BLOB)?.answers.map(({ source }) => source)).toEqual([
      'store local',
      'node one',
      'peer two',
    ]);
  });

  test('asks a peer whose name is by chance that of another source of the run', async () => {
    const find = async () => ({ ...nameOf(BLOB), bytes: BLOB.bytes });
    const { losses, content } = await scene([{ name: 'peer two', sourceName: 'peer https://other.example', find }]);
    expect(await losses.judge(content, answers('absent'), NEVER)).toBe(false);
  });

  test('is not lost when bytes were kept apart for it, or it was taken down', async () => {
    const apart = await scene();
    apart.catalog.custom.record(
      { versionHash: BLOB.versionHash, keccak: sampleBlob('other', 9).versionHash },
      9,
      'local',
    );
    await apart.losses.judge(apart.content, answers('absent'), NEVER);
    const down = await scene();
    const entry = { ...nameOf(BLOB), archiver: 'a', publicReason: null, reason: 'told to', atMs: 1, purge: false };
    down.catalog.withheld.record([entry], false);
    await down.losses.judge(down.content, answers('absent'), NEVER);
    expect([apart.catalog.losses.page(null, 1), down.catalog.losses.page(null, 1)]).toEqual([[], []]);
  });
});
