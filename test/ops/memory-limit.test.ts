import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Devnode } from '../../src/devnode/index.ts';
import { MALLOC_ENVIRONMENT, NODE_FLAGS } from '../../src/node-flags.mjs';
import { atEndOfTest } from '../cleanup.ts';
import { ArchiveClient } from '../e2e/archive-client.ts';
import { environmentOf, startNode } from '../e2e/archive-process.ts';
import { s3Environment } from '../e2e/backends/real-backends.ts';
import { eventually } from '../e2e/eventually.ts';
import { describeWhere } from '../promised.ts';
import { describeWithServers, SERVER_START_MS } from '../servers/availability.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { folderOnDisk } from '../temporary-folder.ts';
import { MemoryGroup } from './memory-group.ts';

const MIB = 1_048_576;
const TEST_MS = 600_000;
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

const probe = MemoryGroup.make(`holdfast-probe-${process.pid}`, 64 * MIB);
probe?.remove();

/** A suite that holds processes to so much memory. */
const describeWithMemoryGroups = describeWhere(probe !== null, 'this user may not make a memory control group');

/** A node at which so many full blobs wait, each of one byte that is repeated: random bytes would take seconds to make. */
async function fullNode(blobs: number): Promise<Devnode> {
  const node = await startNode();
  for (let index = 0; index < blobs; index += 1) {
    node.submitBlob(Buffer.alloc(2 * MIB, index));
    if (index % 2 === 1) node.mine(1);
  }
  return node;
}

const SLOWER = { HOLDFAST_NODE_REQUESTS: '1', HOLDFAST_REPLICAS_REQUESTS: '2' };

async function drainUnder(mebibytes: number, blobs: number, env: Readonly<Record<string, string>>): Promise<void> {
  const node = await fullNode(blobs);
  const group = MemoryGroup.make(`holdfast-${process.pid}-${mebibytes}`, mebibytes * MIB);
  if (group === null) throw new Error('The group could be made a moment ago.');
  const [program = '', ...words] = group.around([process.execPath, ...NODE_FLAGS, MAIN, 'run']);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'));
  const child = spawn(program, words, {
    env: {
      ...MALLOC_ENVIRONMENT,
      ...Object.fromEntries(inherited),
      ...environmentOf({ dataDir: folderOnDisk(), node, env }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  atEndOfTest(async () => {
    child.kill('SIGKILL');
    await ended;
    group.remove();
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const url = await eventually(() => {
    const found = /"url":"([^"]+)"/.exec(output)?.[1];
    if (found === undefined) throw new Error(`not listening: ${output}`);
    return found;
  });
  const client = new ArchiveClient(url);
  await eventually(async () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`It ended: ${output}`);
    const { content } = await client.status();
    expect(content).toMatchObject({ stored: blobs, seen: 0, spooled: 0 });
  }, TEST_MS - 60_000);
  const peakKib = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]);
  expect(group.kills).toBe(0);
  expect(peakKib * 1_024).toBeLessThan(mebibytes * MIB);
  process.stdout.write(`peak resident under ${mebibytes} MiB: ${Math.round(peakKib / 1_024)} MiB\n`);
}

/** With what the daemon holds anyway, all of the blobs together are more than the limit. */
const FULL_SPEED = ['384 MiB, at full speed', 384, 120, {}] as const;
const LOWER_SPEED = ['256 MiB, at a lower one', 256, 80, SLOWER] as const;

describeWithMemoryGroups('a drain under a memory limit', () => {
  // To S3 alone: every blob of such a drain is spooled to the folder first, as in a drain to the folder.
  describeWithServers('to S3', () => {
    let s3: S3Server;
    beforeAll(async () => {
      s3 = await startS3Server();
    }, SERVER_START_MS);
    afterAll(() => s3?.stop());

    test.each([FULL_SPEED, LOWER_SPEED])(
      '%s: everything is stored, and nothing is killed',
      async (_name, mebibytes, blobs, env) =>
        drainUnder(mebibytes, blobs, { ...env, ...(await s3Environment(s3)).env }),
      TEST_MS,
    );
  });
});
