import { test } from 'vitest';
import { Scene } from './archive-on-devnode.ts';

test('a stated dialect that has no blobs is told, not tried', async () => {
  const scene = await Scene.create({ env: { HOLDFAST_NODE_DIALECT: 'syscoin-4.2' } });
  await scene.start();
  await scene.until('it is told', () =>
    scene.archive.status().conditions.some(({ code }) => code === 'node/unsupported-operation'),
  );
});
