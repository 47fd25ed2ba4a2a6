import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blobCid } from '../../../src/core/blob/cid.ts';
import { parseVersionHash } from '../../../src/core/blob/ids.ts';
import { describeWithServers } from '../../servers/availability.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { kuboOfTest, s3Environment, s3OfTest, untilDrained } from './real-backends.ts';

const LARGE = { label: 'large', sizeBytes: 100_000 };
const SMALL = { label: 'small', sizeBytes: 1_000 };

describeWithServers('a bucket for every blob, and IPFS for small ones and those of a list', () => {
  test('IPFS gets what its rule takes; status and check say so, and find nothing missing', async () => {
    const [node, server, kubo] = [await startNode(), await s3OfTest(), await kuboOfTest()];
    const { env: bucket } = await s3Environment(server);
    const [large, small, listed] = [LARGE, SMALL, { label: 'listed', sizeBytes: 200_000 }].map((blob) => ({
      ...blob,
      versionHash: node.submitLabelled({ ...blob, hashType: 'keccak256' }).versionHash,
    }));
    const folder = temporaryFolder();
    writeFileSync(
      join(folder, 'public'),
      `# batches that anybody may fetch from IPFS\n${listed?.versionHash} number 7\n`,
    );
    writeFileSync(
      join(folder, 'holdfast.json'),
      JSON.stringify({
        local: { mode: 'cache' },
        ipfs: { apiUrl: kubo.apiUrl, maxBlobBytes: '64KiB', allowFile: join(folder, 'public') },
      }),
    );
    const env = { ...bucket, HOLDFAST_CONFIG: join(folder, 'holdfast.json') };
    const setup = { dataDir: temporaryFolder(), node, env };
    const daemon = await startArchiveHere(setup);
    node.mine(1);
    await untilStored(daemon, 3);
    await untilDrained(daemon, ['s3', 'ipfs']);
    const pins = await (await fetch(`${kubo.apiUrl}/api/v0/pin/ls?type=recursive`, { method: 'POST' })).text();
    const isPinned = (versionHash = '') =>
      pins.includes(String(blobCid({ hashType: 'keccak256', versionHash: parseVersionHash(versionHash) })));
    expect([large, small, listed].map((blob) => isPinned(blob?.versionHash))).toEqual([false, true, true]);
    const status = await holdfastHere(['status'], { env: environmentOf(setup) });
    expect(status.stdout).toContain(
      'ipfs: Only blobs of at most 65536 bytes and the 1 blobs of the allow-list are replicated there.',
    );
    const check = await holdfastHere(['check', '--read-data'], { env: environmentOf(setup) });
    expect(check, check.stdout).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything is as') });
  });
});
