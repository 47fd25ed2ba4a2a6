import { expect, test } from 'vitest';
import { z } from 'zod';
import { blobCid } from '../../../src/core/blob/cid.ts';
import { type HashType, parseVersionHash } from '../../../src/core/blob/ids.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers } from '../../servers/availability.ts';
import type { KuboServer } from '../../servers/kubo-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { ipfsEnvironment, kuboOfTest } from './real-backends.ts';

const LARGEST = 2_097_152;
const identity = z.object({ ID: z.string() });

describeWithServers('two Kubo nodes', () => {
  async function ask(server: KuboServer, command: string): Promise<Buffer> {
    const response = await fetch(`${server.apiUrl}/api/v0/${command}`, { method: 'POST' });
    expect(response.status, command).toBe(200);
    return Buffer.from(await response.arrayBuffer());
  }

  test.each<HashType>(['keccak256', 'blake2s256'])(
    'the largest blob, archived by us, is fetched by the other by the CID that follows from its %s',
    async (hashType) => {
      const [node, ours, theirs] = await Promise.all([startNode(), kuboOfTest(), kuboOfTest()]);
      const daemon = await startArchiveHere({ dataDir: temporaryFolder(), node, env: ipfsEnvironment(ours) });
      const label = `two kubos ${hashType}`;
      const { versionHash } = node.submitLabelled({ label, sizeBytes: LARGEST, hashType });
      node.mine(1);
      await untilStored(daemon, 1);
      const { ID } = identity.parse(JSON.parse((await ask(ours, 'id')).toString()));
      // Kubo gives up a connection that is not made within five seconds.
      await eventually(() => ask(theirs, `swarm/connect?arg=${ours.swarmAddress}/p2p/${ID}`));
      const cid = blobCid({ hashType, versionHash: parseVersionHash(versionHash) });
      const fetched = await ask(theirs, `block/get?arg=${cid}&timeout=240s`);
      expect(fetched.equals(sampleBytes(label, LARGEST))).toBe(true);
    },
  );
});
