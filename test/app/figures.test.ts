import { expect, test } from 'vitest';
import { ArchiveFigures } from '../../src/app/figures.ts';
import type { OverdueKind } from '../../src/catalog/seen-table.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import { blockOn, spooled } from '../catalog/catalog-in-folder.ts';
import { archiveScene } from './archive-under-test.ts';

test('history that a new catalog walks past is not counted as overdue before the archive is indexed', async () => {
  const { archive, catalog, conditions } = await archiveScene();
  const below = { height: 99, hash: parseBlockHash('ab'.repeat(32)) };
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([blockOn(below, 'history', 'a block')], () => false);
  const status = archive.status();
  const medianTimeSeconds = (spooled('history').medianTimeSeconds ?? 0) + 2 * RETENTION_SECONDS;
  const overdueWhere = (toldOverdue: OverdueKind) =>
    new ArchiveFigures({
      archive: { status: () => ({ ...status, node: { ...status.node, medianTimeSeconds } }), toldOverdue },
      ...{
        catalog,
        sites: [],
        damage: new DamageWatch(catalog, conditions, archive.activity, []),
        routine: archive.routine,
        activity: archive.activity,
      },
    }).read().content.overdue;
  expect([overdueWhere('all'), overdueWhere('known-in-time')]).toEqual([1, 0]);
  // Nothing has read the data folder yet.
  expect(archive.toldOverdue).toBe('known-in-time');
});
