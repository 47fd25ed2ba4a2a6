import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { MemoryBackend } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

test('nothing is given room while a full disk makes what was let go be deleted: it may be the same blob again', async () => {
  const { replication, store, spool } = await replicationScene({ backends: [new MemoryBackend('s3')] });
  await replication.admit(NEVER);
  await spool(sampleBlob('let go', 500));
  await replication.drain(['s3'], NEVER);
  const order: string[] = [];
  const { delete: plainly } = store;
  store.delete = async (name, signal) => {
    for (let turns = 0; turns < 10; turns += 1) await turn();
    await plainly.call(store, name, signal);
    order.push('deleted');
  };
  const relieving = replication.room.relieve(NEVER);
  await replication.room.claim(500, NEVER);
  order.push('given');
  expect([await relieving, order]).toEqual([true, ['deleted', 'given']]);
});
