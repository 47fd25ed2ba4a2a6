import { expect, test } from 'vitest';
import { ArchiveFigures } from '../../src/app/figures.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import { archiveScene } from './archive-under-test.ts';

test('no number of overdue blobs is told while the archive cannot tell what is overdue', async () => {
  const { archive, catalog, conditions } = await archiveScene();
  const status = archive.status();
  const node = { ...status.node, medianTimeSeconds: 1_767_000_000 + 2 * RETENTION_SECONDS };
  const read = (overdueSeconds: number | null) =>
    new ArchiveFigures({
      archive: { status: () => ({ ...status, node }), overdueSeconds },
      ...{
        catalog,
        sites: [],
        damage: new DamageWatch(catalog, conditions, archive.activity, []),
        routine: archive.routine,
        activity: archive.activity,
      },
    }).read().content.overdue;
  expect([read(node.medianTimeSeconds), read(null)]).toEqual([0, null]);
  // Nothing has read the data folder yet.
  expect(archive.overdueSeconds).toBeNull();
});
