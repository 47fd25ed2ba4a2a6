import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseBlockHash } from '../../../src/core/blob/ids.ts';
import { markerText } from '../../../src/storage/chain-binding.ts';
import { BINDING } from '../../../src/storage/object-store.ts';
import { misbehavingServer, object, s3Error } from '../../storage/misbehaving-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { backfill, folderOf, passTime, publishBlocks } from './history.ts';

describe('alone on a folder', () => {
  test('history below the start is fetched, stored, placed with its records, and the start does not move', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'old', 4, 5);
    passTime(node);
    const setup = { node, dataDir: temporaryFolder() };
    const from = String(blobs[0]?.height);
    const to = String(blobs.at(-1)?.height);
    const first = await backfill(setup, '--from-height', from, '--to-height', to, '--source', `dir=${folderOf(blobs)}`);
    expect(first.report).toMatchObject({ exitCode: 0, wanted: 20, fetched: 20, missingCount: 0, notStored: 0 });
    expect(first.code).toBe(0);
    const records = blobs.map(({ hashType, versionHash }) =>
      readdirSync(join(setup.dataDir, 'occurrences', hashType, versionHash)),
    );
    expect(records.every((found) => found.length === 1)).toBe(true);
    // Again: nothing is left to do, and no source is asked.
    const again = await backfill(
      setup,
      '--from-height',
      from,
      '--to-height',
      to,
      '--source',
      'peer=http://127.0.0.1:9',
    );
    expect(again.report).toMatchObject({ exitCode: 0, wanted: 0, fetched: 0, unaskedCount: 0 });
    // The archive itself goes on from there, where it would have begun without.
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 20);
    for (const { versionHash, bytes } of blobs)
      expect((await daemon.client.blob(versionHash)).body.equals(bytes)).toBe(true);
    const status = JSON.parse((await daemon.client.get('/v1/status')).body.toString());
    expect(status.chain.startHeight).toBeGreaterThan(Number(to));
    const record = JSON.parse((await daemon.client.get(`/v1/blobs/${blobs[0]?.versionHash}/record`)).body.toString());
    expect(record.occurrences).toMatchObject([{ state: 'final', height: blobs[0]?.height }]);
    await stop(daemon);
    const checked = await holdfastHere(['check', '--chain', '--from', from, '--data-dir', setup.dataDir]);
    expect(checked).toMatchObject({ code: 0 });
  });

  test('backfill waits to hear what is final: of that there are records, however slowly the node answers', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'slow', 2, 2);
    passTime(node);
    node.faults.add({ fault: { kind: 'latency', ms: 3_000 }, methods: ['getbestchainlock'] });
    const setup = { node, dataDir: temporaryFolder() };
    const [from, to] = [String(blobs[0]?.height), String(blobs.at(-1)?.height)];
    const words = ['--from-height', from, '--to-height', to, '--source', `dir=${folderOf(blobs)}`];
    expect(await backfill(setup, ...words)).toMatchObject({ code: 0, report: { fetched: 4, recordsWaiting: 0 } });
    for (const { hashType, versionHash } of blobs)
      expect(readdirSync(join(setup.dataDir, 'occurrences', hashType, versionHash))).toHaveLength(1);
  });

  test('a blob that no source has is listed with who answered what, and the exit code is 3', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'gone', 2, 3);
    passTime(node);
    const setup = { node, dataDir: temporaryFolder() };
    const kept = folderOf(blobs.slice(1));
    const words = ['--from-height', String(blobs[0]?.height), '--source', `dir=${kept}`];
    const { code, report } = await backfill(setup, ...words);
    expect(code).toBe(3);
    expect(report).toMatchObject({ fetched: 5, missingCount: 1, recordedLost: 0 });
    expect(report.missing).toMatchObject([
      { versionHash: blobs[0]?.versionHash, answers: [{ source: `dir ${kept}`, answered: 'absent' }] },
    ]);
    // The node asked as well, everybody who is configured has answered: now it is lost, by the rule.
    const withNode = await backfill(setup, ...words, '--source', 'node');
    expect(withNode.code).toBe(3);
    expect(withNode.report).toMatchObject({ fetched: 0, missingCount: 1, recordedLost: 1, evidenceWaiting: 0 });
    // The evidence of it is where it belongs when the command has ended: no daemon runs here that would bring it later.
    const [archiver = ''] = readdirSync(join(setup.dataDir, 'audit'));
    const evidence = readdirSync(join(setup.dataDir, 'audit', archiver), { recursive: true }).map(String);
    expect(evidence.filter((path) => path.includes(blobs[0]?.versionHash ?? 'none'))).not.toEqual([]);
    // History that was walked belongs to the verdict, named or not.
    const whole = await holdfastHere(['check', '--chain', '--data-dir', setup.dataDir]);
    expect(whole.code).toBe(3);
    expect(whole.stdout).toContain('1 lost');
    expect(whole.stdout).not.toContain('complete');
    const checked = await holdfastHere([
      'check',
      '--chain',
      '--from',
      String(blobs[0]?.height),
      '--data-dir',
      setup.dataDir,
    ]);
    expect(checked.code).toBe(3);
    expect(checked.stdout).toContain(`LOST    keccak256 ${blobs[0]?.versionHash}`);
    // A source that has it after all revokes that.
    const found = await backfill(
      setup,
      '--from-height',
      String(blobs[0]?.height),
      '--source',
      `dir=${folderOf(blobs)}`,
    );
    expect(found).toMatchObject({ code: 0, report: { fetched: 1 } });
  });

  test('a source that cannot be asked is no absence: exit code 1, and it is named', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'unasked', 1, 3);
    passTime(node);
    const setup = { node, dataDir: temporaryFolder() };
    const words = ['--from-height', String(blobs[0]?.height), '--source', 'peer=http://127.0.0.1:9'];
    const { code, report, events } = await backfill(setup, ...words, '--source', `dir=${folderOf(blobs.slice(1))}`);
    expect(code).toBe(1);
    expect(report).toMatchObject({ fetched: 2, missingCount: 0, unaskedCount: 1, recordedLost: 0 });
    expect(events.filter((one) => one.event === 'fault')).toMatchObject([{ source: 'peer http://127.0.0.1:9' }]);
  });

  test('a dry run fetches nothing, and says what it would, from where, and how much', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'dry', 1, 3, 1_000);
    passTime(node);
    const setup = { node, dataDir: temporaryFolder() };
    const kept = folderOf(blobs.slice(1));
    const words = ['--from-height', String(blobs[0]?.height), '--source', `dir=${kept}`];
    // A kind and its place may be two words.
    const apart = [...words.slice(0, 3), 'dir', kept, '--source', 'dir', kept];
    const { code, report, events } = await backfill(setup, ...apart, '--dry-run');
    expect(code).toBe(3);
    expect(report).toMatchObject({ wanted: 3, fetched: 2, fetchedBytes: 2_003, missingCount: 1 });
    expect(events.filter((one) => one.event === 'would-fetch')).toHaveLength(2);
    // The node has pruned all of them, and its list says so.
    const node0 = await backfill(setup, ...words.slice(0, 2), '--source', 'node', '--dry-run');
    expect(node0).toMatchObject({ code: 3, report: { wanted: 3, fetched: 0, missingCount: 3 } });
    expect(await backfill(setup, ...words)).toMatchObject({ report: { wanted: 3, fetched: 2 } });
  });
});

describe('an impossible backfill', () => {
  test('a bucket that belongs to another chain is refused with exit code 2, also where it answers slowly', async () => {
    const node = await startNode();
    const marker = Buffer.from(markerText('holdfast', parseBlockHash('ab'.repeat(32))));
    const { endpoint } = await misbehavingServer(({ key }, response) => {
      const answer = () => (key === BINDING ? object(response, marker) : s3Error(response, 404, 'NoSuchKey'));
      // A daemon starts without the answer by then.
      setTimeout(answer, 4_000);
    });
    const env = {
      HOLDFAST_S3_ENDPOINT: endpoint,
      HOLDFAST_S3_BUCKET: 'slow',
      HOLDFAST_S3_ACCESS_KEY_ID: 'key',
      HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
    };
    const ended = await holdfastHere(['backfill'], { env: environmentOf({ node, dataDir: temporaryFolder(), env }) });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('belongs to the chain') });
  });

  test('without a node, with a strange source, upside down: a wrong use', async () => {
    const env = { HOLDFAST_DATA_DIR: temporaryFolder() };
    expect(await holdfastHere(['backfill'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('HOLDFAST_NODE_URL'),
    });
    const node = await startNode();
    const withNode = { ...env, HOLDFAST_NODE_URL: node.url.replace('//', `//${node.username}:${node.password}@`) };
    expect(await holdfastHere(['backfill', '--source', 'ftp=x'], { env: withNode })).toMatchObject({ code: 2 });
    expect(await holdfastHere(['backfill', '--from-height', '9', '--to-height', '3'], { env: withNode })).toMatchObject(
      {
        code: 2,
      },
    );
    expect(await holdfastHere(['backfill', '--requests', '99'], { env: withNode })).toMatchObject({ code: 2 });
  });

  test('a range beyond the tip is told', async () => {
    const node = await startNode();
    const ended = await holdfastHere(['backfill', '--to-height', '100000'], {
      env: {
        HOLDFAST_DATA_DIR: temporaryFolder(),
        HOLDFAST_NODE_URL: node.url.replace('//', `//${node.username}:${node.password}@`),
      },
    });
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('The chain ends at height 120') });
  });

  test('a pruned node cannot tell what is on blocks that it threw away, and that is said', async () => {
    const node = await startNode();
    const [blob] = publishBlocks(node, 'pruned', 3, 1);
    passTime(node);
    const thrownAway = [...node.chain.tree.activeBlocks()].find(({ height }) => height === (blob?.height ?? 0) + 1);
    const message = 'Block not available (pruned data)';
    node.faults.add({
      fault: { kind: 'rpc-error', code: -1, message },
      methods: ['getblock'],
      hash: thrownAway?.hash ?? '',
    });
    const env = environmentOf({ node, dataDir: temporaryFolder() });
    const ended = await holdfastHere(['backfill', '--from-height', String(blob?.height)], { env });
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`has pruned block ${thrownAway?.height}`),
    });
  });

  test('a node on another chain than the folder: exit code 2, and nothing is written', async () => {
    const node = await startNode();
    const setup = { node, dataDir: temporaryFolder() };
    await backfill(setup, '--source', 'node');
    const other = await startNode({ seed: 'another chain' });
    const ended = await holdfastHere(['backfill'], {
      env: {
        HOLDFAST_DATA_DIR: setup.dataDir,
        HOLDFAST_NODE_URL: other.url.replace('//', `//${other.username}:${other.password}@`),
      },
    });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('another chain') });
  });
});
