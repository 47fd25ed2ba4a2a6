import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { MIGRATIONS, openCatalog, sighting } from './catalog-in-folder.ts';

const hash = (label: string) => sampleBlob(label, 10).versionHash;
const NAME = { versionHash: hash('committed to'), keccak: hash('its bytes') };

function open(path: string, backends: readonly string[]): Catalog {
  const catalog = Catalog.open({
    path,
    migrationsFolder: MIGRATIONS,
    backends,
    localIsCache: true,
    replicasRequired: 1,
    clock: { ...SYSTEM_CLOCK, wallMs: () => 1_790_000_000_000 },
  });
  catalog.copies.useBackends(['local', ...backends]);
  onTestFinished(() => catalog.close());
  return catalog;
}

test('a place that is configured no more proves nothing', () => {
  const path = join(temporaryFolder(), 'catalog.sqlite');
  const first = open(path, ['s3']);
  first.custom.record(NAME, 9, 's3');
  first.custom.recordDamaged(NAME, 'local');
  expect([first.custom.has(NAME.versionHash), first.custom.lostCount()]).toEqual([true, 0]);
  expect(first.custom.damaged('local', 9)).toEqual([{ ...NAME, elsewhere: true }]);
  first.close();
  const second = open(path, ['other']);
  expect([second.custom.has(NAME.versionHash), second.custom.lostCount()]).toEqual([false, 1]);
  expect(second.custom.damaged('local', 9)).toEqual([{ ...NAME, elsewhere: false }]);
});

test('bytes that turn up revoke a loss', () => {
  const catalog = open(join(temporaryFolder(), 'catalog.sqlite'), []);
  const blob = { versionHash: NAME.versionHash, hashType: 'keccak256' } as const;
  catalog.losses.record([{ ...blob, upToHeight: 1, deadlineSeconds: 0, answers: [] }]);
  expect(catalog.losses.count()).toBe(1);
  catalog.custom.record(NAME, 9, 'local');
  expect([catalog.losses.count(), catalog.losses.takeRevoked()]).toMatchObject([0, [{ because: 'bytes-turned-up' }]]);
});

test('kept custom commitments are not absent, and hide no overdue blob behind them', () => {
  const catalog = openCatalog();
  const custom = Array.from({ length: 512 }, (_, index) => sighting(`custom ${index}`).versionHash);
  const absent = sighting('absent').versionHash;
  catalog.chain.recordStart(1);
  for (const [height, contents] of [custom, [absent]].entries()) {
    const occurrences = contents.map((versionHash, transactionIndex) => {
      const txid = parseTxId('ab'.repeat(32));
      return { versionHash, hashType: 'keccak256' as const, txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
    });
    const [hash, previousHash] = [`0${height + 1}`, `0${height}`].map((byte) => parseBlockHash(byte.repeat(32)));
    if (hash === undefined || previousHash === undefined) throw new Error('There is no hash.');
    const times = { timeSeconds: 100 * height, medianTimeSeconds: 100 * height };
    catalog.chain.recordBlocks(
      [{ height: height + 1, hash, previousHash, ...times, occurrences, unclear: [] }],
      () => true,
    );
  }
  for (const versionHash of custom) catalog.custom.record({ versionHash, keccak: hash('its bytes') }, 9, 'local');
  const overdue = () => catalog.losses.overdue(Number.MAX_SAFE_INTEGER, 512).map(({ versionHash }) => versionHash);
  expect([overdue(), catalog.figures.overdue(Number.MAX_SAFE_INTEGER)]).toEqual([[absent], 1]);
  expect(catalog.losses.unsaved.since(0).map(({ versionHash }) => versionHash)).toEqual([absent]);
  expect([catalog.losses.unsaved.between(0, 100), catalog.losses.unsaved.between(0, 101)]).toEqual([
    null,
    { blobs: 1, from: 2, to: 2 },
  ]);
  // A copy that is damaged is kept no more.
  const [first] = custom;
  if (first === undefined) throw new Error('There is no custom commitment.');
  catalog.custom.recordDamaged({ versionHash: first, keccak: hash('its bytes') }, 'local');
  expect(overdue()).toEqual([first, absent]);
});
