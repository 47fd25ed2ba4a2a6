import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { testOnLinux } from '../../promised.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';

const LABEL = 'asked for among the idle';
const SIZE_BYTES = 300_000;
const GROUP = 200;
const IDLE = 3_000;
/** Resident memory that each may cost, with all that Node keeps for it. */
const MAX_BYTES_EACH = 48 * 1_024;

async function archive(openFiles?: number) {
  const node = await startNode();
  const hash = node.submitLabelled({ label: LABEL, sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash;
  node.mine(2);
  const limited = openFiles === undefined ? {} : { openFiles };
  const daemon = await startArchive({ dataDir: temporaryFolder(), node, ...limited });
  await untilStored(daemon, 1);
  const isRight = async () => {
    const { status, body } = await daemon.client.blob(hash);
    return status === 200 && body.equals(sampleBytes(LABEL, SIZE_BYTES));
  };
  return { node, daemon, isRight };
}

function open({ client }: ArchiveProcess): Promise<Socket> {
  const { hostname, port } = new URL(client.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => resolve(socket));
    // Closed by the archive is no failure here.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(socket));
    // All bytes are taken, or the end would not be noticed either.
    socket.resume();
    onTestFinished(() => {
      socket.destroy();
    });
  });
}

/** Some at a time: a kernel queues only so many that were not accepted yet. */
async function openMany(daemon: ArchiveProcess, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    sockets.push(...(await Promise.all(Array.from({ length: GROUP }, () => open(daemon)))));
  }
  return sockets;
}

function residentBytes({ pid }: ArchiveProcess): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
}

testOnLinux('thousands of idle connections cost little, and keep nobody from right bytes', async () => {
  const { daemon, isRight } = await archive();
  expect(await isRight()).toBe(true);
  const before = residentBytes(daemon);
  const idle = await openMany(daemon, IDLE);
  const added = residentBytes(daemon) - before;
  process.stdout.write(`${IDLE} idle connections: ${Math.round(added / 1_024)} KiB more\n`);
  expect(added).toBeLessThan(IDLE * MAX_BYTES_EACH);
  expect(await isRight()).toBe(true);
  // A client that never says a word is told so after ten seconds, and its connection ends.
  await eventually(() => expect(idle.every(({ destroyed }) => destroyed)).toBe(true));
  expect(await isRight()).toBe(true);
});

testOnLinux('where there are few handles, idle connections take none that files and nodes need', async () => {
  const { node, daemon, isRight } = await archive(256);
  const idle = await openMany(daemon, 600);
  expect(await isRight()).toBe(true);
  await eventually(() => expect(idle.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(500));
  // Handles are left for what is fetched, too.
  node.submitLabelled({ label: 'meanwhile', sizeBytes: 200_000, hashType: 'keccak256' });
  node.mine(1);
  await untilStored(daemon, 2);
  expect(daemon.output).not.toMatch(/EMFILE|too many open files/i);
});
