import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { startArchiveHere, startNode, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';

const BLOCKS = 80;

test.each(['invalid-request', 'too-large', 'empty-list', 'closed'] as const)(
  'a node that refuses batches (%s) is archived all the same, and that is said',
  async (how) => {
    const node = await startNode();
    for (let block = 0; block < BLOCKS; block += 1) {
      for (let blob = 0; blob < 2; blob += 1) {
        node.submitLabelled({ label: `${block} ${blob}`, sizeBytes: 500, hashType: 'keccak256' });
      }
      node.mine();
    }
    const { remove } = node.faults.add({ fault: { kind: 'no-batches', how } });
    const env = { HOLDFAST_START_HEIGHT: '1' };
    const daemon = await startArchiveHere({ dataDir: temporaryFolder(), node, env });
    await untilStored(daemon, 2 * BLOCKS);
    const { conditions } = await eventually(async () => {
      const readiness = await daemon.client.readiness();
      expect(readiness).toMatchObject({ status: 200, conditions: [{ code: 'node/refuses-batches' }] });
      return readiness;
    });
    expect(conditions[0]?.message).toContain('node-1');
    expect(daemon.stdout.toString().match(/node\/refuses-batches/g)).toHaveLength(1);
    const { chain, content } = await daemon.client.status();
    expect(chain).toMatchObject({ height: node.chain.tip.height, lagBlocks: 0 });
    expect(content.stored).toBe(2 * BLOCKS);
    remove();
  },
);
