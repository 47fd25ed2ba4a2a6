import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDevnode, type Devnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { call } from './rpc-client.ts';

let dataDir: string;
const open: Devnode[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'devnode-'));
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((devnode) => devnode.close()));
  rmSync(dataDir, { recursive: true });
});

async function start(options: DevnodeOptions = {}): Promise<Devnode> {
  const devnode = await createDevnode({ dataDir, ...options });
  open.push(devnode);
  return devnode;
}

/** Everything that a client can see of a chain. */
async function visible(devnode: Devnode): Promise<unknown[]> {
  const calls = ['getblockchaininfo', 'getbestchainlock', 'getchaintips', 'getrawmempool'];
  const answers = await Promise.all(calls.map((method) => call(devnode, method)));
  return [...answers, await call(devnode, 'listnevmblobdata', [1000])];
}

test('a restarted chain continues with its blocks, waiting blobs, submitted bytes, reorganisations and clock', async () => {
  const first = await start({ seedRecordedBlobs: true });
  const mined = first.submitBlob(Buffer.from('mined'), { hashType: 'blake2s256' });
  first.mine(3);
  first.advanceSeconds(7200);
  const waiting = first.submitBlob(Buffer.from('waiting'));
  first.mine(2, { selection: { kind: 'only', txids: [] } });
  const replaced = first.submitBlob(Buffer.from('replaced'));
  const replacement = first.replaceTransaction(replaced.txid, Buffer.from('replacement'));
  first.reorganise(3, { remine: false });
  first.announceChainLock('ab'.repeat(32), 999);
  const before = await visible(first);
  await first.close();

  const second = await start({ seedRecordedBlobs: true });
  expect(await visible(second)).toEqual(before);
  expect(second.nowSeconds()).toBeGreaterThanOrEqual(first.nowSeconds());
  for (const [{ versionHash }, text] of [
    [mined, 'mined'],
    [waiting, 'waiting'],
    [replacement, 'replacement'],
  ] as const) {
    const { result } = await call(second, 'getnevmblobdata', [versionHash, true]);
    expect(result).toMatchObject({ data: Buffer.from(text).toString('hex') });
  }
  expect((await call(second, 'getnevmblobdata', [replaced.versionHash])).error?.code).toBe(-32602);
});

test('a cut or damaged journal line ends the journal', async () => {
  const first = await start();
  first.mine(2);
  const best = first.chain.tip.hash;
  await first.close();
  const path = join(dataDir, 'chain.log');
  appendFileSync(path, '00000000 {"do":"mine"}\n{"half a li');
  const second = await start();
  expect(second.chain.tip.hash).toBe(best);
  second.mine();
  const next = second.chain.tip.hash;
  await second.close();
  expect((await start()).chain.tip.hash).toBe(next);
  writeFileSync(path, readFileSync(path).subarray(0, -5));
  expect((await start()).chain.tip.hash).toBe(best);
});

test('a folder of another seed is refused', async () => {
  await start({ seed: 'one' });
  await expect(start({ seed: 'two' })).rejects.toMatchObject({ code: 'devnode/other-chain' });
});

test('pruned submitted bytes leave the folder', async () => {
  const devnode = await start();
  const { versionHash } = devnode.submitBlob(Buffer.from('short lived'));
  const path = join(dataDir, 'blobs', `keccak256-${versionHash}`);
  devnode.mine(2);
  expect(readFileSync(path, 'utf8')).toBe('short lived');
  devnode.advanceSeconds(21_700);
  devnode.mine(8);
  expect(() => readFileSync(path)).toThrow(/ENOENT/);
});

test('kill -9 during mining loses no block that a client could have seen', async () => {
  const script = fileURLToPath(new URL('kill-child.ts', import.meta.url));
  const seen = new Map<number, string>();
  const submitted: string[] = [];
  for (let round = 1; round <= 5; round++) {
    const child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
    let left = 7 * round;
    for await (const line of createInterface({ input: child.stdout })) {
      const [first = '', second = ''] = line.split(' ');
      if (first === 'submitted') submitted.push(second);
      else seen.set(Number(first), second);
      left -= 1;
      if (left === 0) child.kill('SIGKILL');
    }
  }
  const devnode = await start({ seed: 'killed' });
  expect(seen.size).toBeGreaterThan(80);
  for (const [height, hash] of seen) expect(devnode.chain.tree.at(height)?.hash).toBe(hash);
  for (const hash of submitted) expect((await call(devnode, 'getnevmblobdata', [hash, true])).status).toBe(200);
});
