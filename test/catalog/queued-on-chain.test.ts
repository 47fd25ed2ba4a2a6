import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import { type HashType, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HandClock, MIGRATIONS, openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const timeAt = (height: number) => 1_767_000_000 + height * 150;

function block(height: number, label?: string, hashType: HashType = 'keccak256'): WalkedBlock {
  const occurrence = (name: string) => ({
    versionHash: sighting(name).versionHash,
    hashType,
    txid: parseTxId(hex(`${name} in ${height}`)),
    vout: 0,
    transactionIndex: 1,
    makeRecord: () => '{}',
  });
  return {
    height,
    hash: parseBlockHash(hex(`block ${height}`)),
    previousHash: parseBlockHash(hex(`block ${height - 1}`)),
    timeSeconds: timeAt(height),
    medianTimeSeconds: timeAt(height),
    occurrences: label === undefined ? [] : [occurrence(label)],
    unclear: [],
  };
}

/** A catalog whose one backend can stand for other places. */
function opener() {
  const path = join(temporaryFolder(), 'catalog.sqlite');
  let last: Catalog | null = null;
  onTestFinished(() => last?.close());
  return (place: string): Catalog => {
    last?.close();
    last = Catalog.open({
      path,
      migrationsFolder: MIGRATIONS,
      backends: ['s3'],
      places: new Map([['s3', place]]),
      localIsCache: true,
      replicasRequired: 1,
      clock: new HandClock(),
    });
    last.copies.useBackends(['local', 's3']);
    return last;
  };
}

test('content that lost its only copy because a backend moved is late, overdue and unsaved like any other on chain', () => {
  const open = opener();
  const content = spooled('a', 'blake2s256', { medianTimeSeconds: timeAt(100) });
  const catalog = open('http://one/bucket');
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([block(100, 'a', 'blake2s256'), block(101, 'a', 'blake2s256'), block(102)], () => false);
  catalog.recordSpooled([content]);
  catalog.recordProven('s3', catalog.find(content.versionHash));
  const held = catalog.find(content.versionHash).map((entry) => ({ entry, backend: 's3' }));
  catalog.replicas.cached.recordEvicted(held);
  expect(catalog.answers.firstUnsavedHeight(100)).toBeNull();

  const moved = open('http://two/bucket');
  expect(moved.find(content.versionHash)).toMatchObject([{ state: 'seen' }]);
  // The row goes by its newest block, as when it was walked.
  expect(moved.findQueued(content.versionHash)).toMatchObject({
    hashType: 'blake2s256',
    medianTimeSeconds: timeAt(101),
  });
  expect(moved.answers.firstUnsavedHeight(100)).toBe(100);
  expect(moved.losses.overdue(timeAt(102) + RETENTION_SECONDS, 10)).toHaveLength(1);
  expect(moved.losses.lateness(timeAt(100), timeAt(102)).unspooled).toBe(1);
});

test('queued content that is then found in a block of history is on chain from then on', () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(101);
  catalog.chain.recordBlocks([block(101)], () => false);
  catalog.noteListed([sighting('a', { medianTimeSeconds: timeAt(300) })]);
  expect(catalog.findQueued(sighting('a').versionHash)?.hashType).toBeNull();
  catalog.chain.recordHistory([block(99, 'a'), block(100, 'a')]);
  expect(catalog.findQueued(sighting('a').versionHash)).toMatchObject({
    hashType: 'keccak256',
    medianTimeSeconds: timeAt(100),
  });
  expect(catalog.losses.overdue(timeAt(101) + RETENTION_SECONDS, 10)).toHaveLength(1);
});

test('content that is listed while a block has it is queued as on chain', () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([block(100, 'a', 'blake2s256')], () => true);
  catalog.losses.record([{ ...spooled('a', 'blake2s256'), upToHeight: 100, deadlineSeconds: 1, answers: [] }]);
  expect(catalog.findQueued(sighting('a').versionHash)).toBeNull();
  catalog.noteListed([sighting('a', { medianTimeSeconds: timeAt(200) })]);
  expect(catalog.findQueued(sighting('a').versionHash)).toMatchObject({
    hashType: 'blake2s256',
    medianTimeSeconds: timeAt(200),
  });
});

describe('blobs that rest after their window', () => {
  const { versionHash } = sighting('a');
  const wanted = (catalog: Catalog) => catalog.nextQueued(10).map((queued) => queued.versionHash);

  test.each([
    ['asked for', false],
    ['there', true],
  ])('a blob that was not %s is due again when a block within its window names it', (_what, wasAsked) => {
    const catalog = openCatalog();
    catalog.chain.recordStart(100);
    catalog.chain.recordBlocks([block(100, 'a')], () => !wasAsked);
    const absent = { versionHash, code: 'archive/absent-at-node', message: 'No.', nextAttemptMs: null };
    if (wasAsked) catalog.recordFailures([absent]);
    expect(wanted(catalog)).toEqual([]);
    const wakeUps = catalog.queueChanges.notifications;
    catalog.chain.recordBlocks([block(101), block(102, 'a')], (seconds) => seconds < timeAt(102));
    expect(wanted(catalog)).toEqual([versionHash]);
    expect(catalog.findQueued(versionHash)?.medianTimeSeconds).toBe(timeAt(102));
    expect(catalog.queueChanges.notifications).toBeGreaterThan(wakeUps);
    // Absent again, it rests: a block whose window is over as well changes nothing.
    catalog.recordFailures([absent]);
    catalog.chain.recordBlocks([block(103, 'a')], () => true);
    expect(wanted(catalog)).toEqual([]);
  });

  test('a lost blob is queued by no block whose window is over', () => {
    const catalog = openCatalog();
    catalog.chain.recordStart(100);
    catalog.chain.recordBlocks([block(100, 'a')], () => true);
    catalog.losses.record([{ ...spooled('a'), upToHeight: 100, deadlineSeconds: 1, answers: [] }]);
    catalog.chain.recordBlocks([block(101, 'a')], () => true);
    expect(wanted(catalog)).toEqual([]);
  });

  test('a blob with custom bytes rests on when a block whose window is over names it', () => {
    const catalog = openCatalog();
    catalog.chain.recordStart(100);
    catalog.chain.recordBlocks([block(100, 'a')], () => true);
    catalog.custom.record({ versionHash, keccak: sighting('keccak').versionHash }, 9, 'local');
    catalog.chain.recordBlocks([block(101, 'a')], () => true);
    expect(wanted(catalog)).toEqual([]);
  });
});

test('failed blobs past their deadline are due behind the others that failed', () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([block(100, 'mined, past')], () => false);
  const tip = { ...block(101, 'mined'), medianTimeSeconds: timeAt(101) + RETENTION_SECONDS };
  catalog.chain.recordBlocks([tip], () => false);
  const listed = [sighting('listed, past', { medianTimeSeconds: timeAt(99) })];
  listed.push(sighting('listed', { medianTimeSeconds: timeAt(101) }));
  catalog.noteListed(listed);
  const names = ['mined', 'listed', 'mined, past', 'listed, past'].map((label) => sighting(label).versionHash);
  const failed = { code: 'node/timeout', message: 'No answer.', nextAttemptMs: 0 };
  catalog.recordFailures(names.map((versionHash) => ({ versionHash, ...failed })));
  const due = (limit: number) => catalog.nextQueued(limit, 'failed').map(({ versionHash }) => versionHash);
  expect(due(10)).toEqual(names);
  expect(due(3)).toEqual(names.slice(0, 3));
});
