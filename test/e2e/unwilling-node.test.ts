import { describe, expect, test } from 'vitest';
import type { Devnode, FaultRule } from '../../src/devnode/index.ts';
import { beforeAllSharing } from '../cleanup.ts';
import { freePort } from '../servers/child-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { PASSWORD, type RunningArchive, startArchiveHere, startNode, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';

let node: Devnode;
let daemon: RunningArchive;
let stored = 0;

beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  daemon = await startArchiveHere({ dataDir: temporaryFolder(atEnd), node, atEnd });
});

/** A blob that is published while something is wrong: it has to come when nothing is any more. */
function publish(): void {
  stored += 1;
  node.submitLabelled({ label: `published meanwhile ${stored}`, sizeBytes: 1_000, hashType: 'keccak256' });
  node.mine();
}

async function untilToldOf(code: string) {
  return await eventually(async () => {
    const readiness = await daemon.client.readiness();
    const told = readiness.conditions.find((condition) => condition.code === code);
    if (readiness.status !== 503 || told === undefined) throw new Error(JSON.stringify(readiness));
    return told;
  });
}

async function untilHealed(): Promise<void> {
  await untilStored(daemon, stored);
  await eventually(async () => expect(await daemon.client.readiness()).toMatchObject({ status: 200, conditions: [] }));
}

const GIB = 1_073_741_824;
const FAULTS: readonly (readonly [name: string, fault: FaultRule['fault'], code: string, says: RegExp])[] = [
  ['a wrong password', { kind: 'unauthorized' }, 'node/unauthorized', /refuses user or password/],
  ['warming up', { kind: 'warming-up' }, 'node/warming-up', /-28.*Loading block index/],
  ['a full work queue', { kind: 'work-queue-full' }, 'node/busy', /work queue of the node .* is full/],
  [
    'a page of HTML',
    { kind: 'html', status: 200 },
    'node/not-a-node',
    /is no node: it answered status 200 with text\/html/,
  ],
  ['an error page of a proxy', { kind: 'html', status: 404 }, 'node/not-a-node', /is no node: it answered status 404/],
  ['a proxy that does not reach it', { kind: 'html', status: 502 }, 'node/unreachable', /proxy/],
  ['an empty body', { kind: 'empty-body' }, 'node/not-a-node', /an empty body/],
  [
    'a body of 1 GiB',
    { kind: 'huge-body', bytes: GIB },
    'node/body-too-large',
    /takes at most \d+\. Holdfast cut it off/,
  ],
  ['JSON that ends in the middle', { kind: 'half-json', bytes: 30 }, 'node/malformed-answer', /ends in the middle/],
  ['a connection cut in the middle', { kind: 'truncate', bytes: 30 }, 'node/connection-lost', /broke/],
  ['a connection reset', { kind: 'reset', carriedOut: false }, 'node/connection-lost', /broke/],
  ['an error of its own', { kind: 'rpc-error', code: -1, message: 'no' }, 'node/rpc-error', /refuses \w+ \(-1\): no/],
];

describe('a node that answers otherwise than it should', () => {
  test.each(FAULTS)('%s: /readyz says so, and the daemon goes on when it is over', async (_name, fault, code, says) => {
    const { hits, remove } = node.faults.add({ fault });
    expect(hits).toBe(0);
    const told = await untilToldOf(code);
    expect(told.message).toMatch(says);
    expect(told.hint).toMatch(/\w.*\.$/);
    publish();
    const unknown = await daemon.client.blob('ab'.repeat(32));
    expect(unknown.status).toBe(503);
    remove();
    await untilHealed();
    await eventually(async () => expect((await daemon.client.blob('ab'.repeat(32))).status).toBe(404));
  });
});

test('nothing it said repeats the password, and every line of the log is JSON with a message', () => {
  expect(daemon.output).not.toContain(PASSWORD);
  expect(daemon.output).not.toContain(Buffer.from(`devnode:${PASSWORD}`).toString('base64'));
  expect(daemon.stderr.toString()).toBe('');
  for (const line of daemon.stdout.toString().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
});

describe('a node that is not there', () => {
  test('unreachable at the start: the daemon runs, says so, and goes on when it comes', async () => {
    const port = await freePort();
    const waiting = await startArchiveHere({ dataDir: temporaryFolder(), node: { url: `http://127.0.0.1:${port}` } });
    const { conditions } = await eventually(async () => {
      const readiness = await waiting.client.readiness();
      expect(readiness).toMatchObject({ status: 503, conditions: [{ code: 'node/unreachable' }] });
      return readiness;
    });
    expect(conditions[0]?.message).toBe('The node node-1 cannot be reached: ECONNREFUSED.');
    await startNode({ port, seedRecordedBlobs: true });
    await untilStored(waiting, 22);
  });

  test('a wrong password in the configuration is told with what to set, and never repeated', async () => {
    const wrong = 'another-secret-4711';
    const own = await startNode();
    const refused = await startArchiveHere({
      dataDir: temporaryFolder(),
      node: own,
      env: { HOLDFAST_NODE_PASSWORD: wrong },
    });
    await eventually(async () => {
      expect(await refused.client.readiness()).toMatchObject({ conditions: [{ code: 'node/unauthorized' }] });
    });
    expect((await refused.client.readiness()).conditions[0]?.hint).toContain('Set user and password');
    expect(refused.output).not.toContain(wrong);
    expect(refused.output).not.toContain(Buffer.from(`devnode:${wrong}`).toString('base64'));
  });
});
