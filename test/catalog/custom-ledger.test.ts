import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { MIGRATIONS } from './catalog-in-folder.ts';

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
