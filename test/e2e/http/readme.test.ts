import { execFile, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../../src/devnode/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';

const README = readFileSync(fileURLToPath(new URL('../../../src/http/README.md', import.meta.url)), 'utf8');
const LINES = README.split('\n').filter((line) => line.startsWith('curl '));
const ADDRESS = 'http://archive:8080';
const LABEL = 'as the documentation shows';
const SIZE_BYTES = 70_000;

let node: Devnode;
let daemon: ArchiveProcess;
let folder: string;
let env: Record<string, string>;

beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  folder = temporaryFolder(atEnd);
  // A refusal is a failure.
  writeFileSync(join(folder, '.curlrc'), 'fail\nsilent\nshow-error\n');
  const given = { label: LABEL, sizeBytes: SIZE_BYTES, hashType: 'keccak256' } as const;
  const { versionHash, txid } = node.submitLabelled(given);
  node.mine(3);
  daemon = await startArchive({
    dataDir: temporaryFolder(atEnd),
    node,
    env: { HOLDFAST_FINALITY: 'depth:2', HOLDFAST_START_HEIGHT: '1', HOLDFAST_SENDERS: 'learn' },
    atEnd,
  });
  await untilStored(daemon, 1);
  env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    CURL_HOME: folder,
    U: daemon.client.url,
    HASH: versionHash,
    KECCAK: versionHash,
    TXID: txid,
    HEIGHT: '2',
    SCRIPT: `5120${'ab'.repeat(32)}`,
  };
  await eventually(async () => expect((await daemon.client.get('/lastblock')).status).toBe(200));
  await eventually(async () => expect((await daemon.client.get(`/v1/blobs/${versionHash}/proof`)).status).toBe(200));
});

/** Returns what a line shows first, or the empty text: events have no end. */
async function firstOf(line: string): Promise<string> {
  const following = spawn('sh', ['-c', `exec ${line}`], { env, cwd: folder });
  onTestFinished(() => void following.kill());
  for await (const shown of following.stdout) return String(shown);
  return '';
}

describe('the lines of the documentation', () => {
  test.each(LINES)('%s', async (line) => {
    if (line.includes(' -N ')) {
      expect(await firstOf(line)).not.toBe('');
      return;
    }
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { env, cwd: folder, maxBuffer: 8 * 1_048_576 });
    if (/ -O | -o /.test(line)) {
      const name = line.includes('-O') ? (env['HASH'] ?? '') : 'blob';
      expect(readFileSync(join(folder, name)).equals(Buffer.from(sampleBytes(LABEL, SIZE_BYTES)))).toBe(true);
    } else expect(stdout).not.toBe('');
  });

  test('there are enough of them', () => {
    expect(LINES.length).toBeGreaterThan(15);
  });
});

/** The address that the documentation gives this client. */
function addressFor(client: string): string {
  const item = README.split('\n').find((line) => line.startsWith(`- **${client}`));
  const address = new RegExp(`\`(${ADDRESS}[^\`]*)\``).exec(item ?? '')?.[1] ?? '';
  return address.replace(ADDRESS, daemon.client.url);
}

describe('clients that are pointed here as the documentation says', () => {
  const bytes = () => Buffer.from(sampleBytes(LABEL, SIZE_BYTES));

  test('Rollux: the address and the hash make the URL, the body is hex', async () => {
    const answer = await fetch(`${addressFor('Rollux op-node')}${env['HASH']}`);
    expect(Buffer.from(await answer.text(), 'hex').equals(bytes())).toBe(true);
  });

  test('zkSYS: raw bytes and finality below one base, RPC at the archive itself', async () => {
    const base = addressFor('zkSYS (bitcoin_da_client)');
    expect(Buffer.from(await (await fetch(`${base}/vh/${env['HASH']}`)).arrayBuffer()).equals(bytes())).toBe(true);
    const safe = await fetch(`${base}/check_vh`, { method: 'POST', body: JSON.stringify([env['HASH']]) });
    expect(await safe.json()).toEqual([true]);
    const batch = [{ jsonrpc: '1.0', id: 1, method: 'getnevmblobdata', params: [env['HASH'], false] }];
    const reply = await fetch(daemon.client.url, { method: 'POST', body: JSON.stringify(batch) });
    const [one] = z.array(z.looseObject({ result: z.looseObject({ height: z.int() }) })).parse(await reply.json());
    expect(one?.result.height).toBeGreaterThan(0);
  });

  test('OP alt-DA: the commitment below /get/', async () => {
    const answer = await fetch(`${addressFor('OP alt-DA')}/get/0x00${env['KECCAK']}`);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes())).toBe(true);
  });
});
