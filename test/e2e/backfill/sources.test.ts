import { describe, expect, test } from 'vitest';
import { fakeSentinel, lyingPeer, PEER_LIES } from '../../backfill/source/imitations.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { backfill, folderOf, passTime, publishBlocks } from './history.ts';

describe('sources', () => {
  test('another Holdfast that kept it all, then a Sentinel for what that one has not got', async () => {
    const node = await startNode();
    const peer = await startArchiveHere({ node, dataDir: temporaryFolder() });
    const blobs = publishBlocks(node, 'peer', 3, 4);
    await untilStored(peer, 12);
    // Only Sentinel has these: the peer was not there when they were published.
    await stop(peer);
    const later = publishBlocks(node, 'later', 1, 3);
    passTime(node);
    const again = await startArchiveHere({ node, dataDir: temporaryFolder() });
    await stop(again);
    const serving = await startArchiveHere({ node, dataDir: peerFolder(peer.output) });
    const sentinel = await fakeSentinel(new Map(later.map(({ versionHash, bytes }) => [versionHash, bytes])));
    const setup = { node, dataDir: temporaryFolder() };
    const from = String(blobs[0]?.height);
    const { code, report } = await backfill(
      setup,
      ...['--from-height', from, '--source', `peer=${serving.client.url}`, '--source', `peer=${sentinel.endpoint}/vh/`],
    );
    // The peer walks, and knows of what it has not got that it is on chain: that is no absence.
    expect(report).toMatchObject({ fetched: 15, missingCount: 0, unaskedCount: 0 });
    expect(report.sources).toMatchObject([{ gave: 12 }, { gave: 3 }]);
    expect(code).toBe(0);
  });

  test('replace each other, whatever one of them does, and the one that gave wrong bytes is named', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'lies', 1, 4);
    passTime(node);
    const quick = PEER_LIES.filter((lie) => lie !== 'hang' && lie !== 'drip');
    const liars = await Promise.all(quick.map((lie) => lyingPeer(lie)));
    const setup = { node, dataDir: temporaryFolder() };
    const words = liars.flatMap(({ endpoint }) => ['--source', `peer=${endpoint}`]);
    const from = ['--from-height', String(blobs[0]?.height)];
    const { code, report, events } = await backfill(setup, ...from, ...words, '--source', `dir=${folderOf(blobs)}`);
    expect(report).toMatchObject({ exitCode: 0, fetched: 4, unaskedCount: 0 });
    expect(code).toBe(0);
    const lied = new Set(events.filter((one) => one.event === 'wrong-bytes').map((one) => one['source']));
    expect([...lied]).toEqual([`peer ${liars[quick.indexOf('wrong-bytes')]?.endpoint}`]);
    expect(report.sources[quick.indexOf('wrong-bytes')]).toMatchObject({ gave: 0, wrongBytes: 4 });
  });

  test('a liar alone: nothing of it is stored, everything is missing, and people read who it was', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'alone with a liar', 1, 2);
    passTime(node);
    const liar = await lyingPeer('wrong-bytes');
    const dataDir = temporaryFolder();
    const env = {
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_NODE_URL: node.url.replace('//', `//${node.username}:${node.password}@`),
    };
    const words = ['backfill', '--from-height', String(blobs[0]?.height), '--source', `peer=${liar.endpoint}`];
    const { code, stdout } = await holdfastHere(words, { env });
    expect(code).toBe(3);
    expect(stdout).toContain(
      `LIES     peer ${liar.endpoint} gives other bytes than keccak256 ${blobs[0]?.versionHash}`,
    );
    expect(stdout).toMatch(/MISSING {2}keccak256 [0-9a-f]{64} at height \d+: peer http\S+ wrong-bytes/);
    expect(stdout).toContain('2 are MISSING');
  });
});

function peerFolder(output: string): string {
  return /"dataDir":"([^"]+)"/.exec(output)?.[1] ?? '';
}
