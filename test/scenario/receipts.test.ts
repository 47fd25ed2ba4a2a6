import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import {
  hashWith,
  nobleHasher,
  parseBlockHash,
  parseReceipt,
  parseVersionHash,
  type Receipt,
  type ReceiptStatement,
} from '../../src/verify/index.ts';
import { cli } from '../cli/cli-in-process.ts';
import { eventually } from '../e2e/eventually.ts';
import { fakeSource } from '../reader/fake-source.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { signedBy, type TestSigner, testSigner } from '../verify/signers.ts';
import { addressOf, Scene } from './archive-on-devnode.ts';

const BYTES = sampleBytes('wanted in several archives', 700);
const NAME = encodeHex(hashWith(nobleHasher, 'keccak256', BYTES));

const receiptAt = async (url: string, versionHash: string): Promise<Receipt> =>
  parseReceipt(await (await fetch(`${url}/v1/receipts/${versionHash}`)).text());

/** Three archives on one node, each with a blob of which it gave a receipt: so its key is known. */
async function threeArchives() {
  const env = { HOLDFAST_START_HEIGHT: '0' };
  const first = await Scene.create({ env });
  const others = [await Scene.create({ env, on: first.node }), await Scene.create({ env, on: first.node })];
  const scenes = [first, ...others];
  for (const scene of scenes) await scene.start();
  const [{ versionHash = '', height = 0 } = {}] = first.mine(1, 1);
  // The lock comes a block later.
  first.mine(1);
  for (const scene of scenes) {
    await scene.caughtUp();
    await scene.finalUpTo(height);
  }
  const keys = await Promise.all(scenes.map(async ({ url }) => (await receiptAt(url, versionHash)).statement.key));
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'blob'), BYTES);
  /** Submits, and mines what was submitted as soon as an archive has it. */
  const submit = async (...words: string[]) => {
    const ended = cli(['submit', 'blob', '--json', ...words], { HOLDFAST_NODE_URL: addressOf(first.node) }, folder);
    await first.until('the archive has it', async () => (await first.record(NAME)) !== null);
    first.mine(2);
    const end = await ended;
    writeFileSync(join(folder, 'receipts.json'), end.stdout);
    return end;
  };
  const verify = (...words: string[]) => cli(['verify', 'receipts.json', ...words], {}, folder);
  return { scenes, keys, submit, verify, versionHash };
}

/** Stands before an archive and gives what it makes of its receipts. */
async function standingBefore({ url }: Scene, gives: (truth: Receipt) => Promise<unknown>): Promise<string> {
  const source = await fakeSource((request, response) => {
    const answered = async () => {
      const answer = await fetch(`${url}${request.url}`);
      const body = await answer.text();
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      response.end(answer.status === 200 ? JSON.stringify(await gives(parseReceipt(body))) : body);
    };
    // At the end of the test the archive may stop while it is asked.
    answered().catch(() => response.destroy());
  });
  return source.url;
}

const archives = (...urls: string[]) => urls.flatMap((url) => ['--archive', url]);
const known = (...keys: string[]) => keys.flatMap((key) => ['--key', key]);
const outcomes = (stdout: string) =>
  (JSON.parse(stdout) as { archives: { outcome: string }[] }).archives.map(({ outcome }) => outcome);

test('a blob is submitted, and two of three archives sign that they stored it and that it is final', async () => {
  const { scenes, keys, submit, verify, versionHash } = await threeArchives();
  const urls = scenes.map(({ url }) => url);
  const { code, stdout, stderr } = await submit('--receipt', '2', ...archives(...urls), ...known(...keys));
  expect([code, stderr]).toEqual([0, '']);
  const told = JSON.parse(stdout) as { versionHash: string; archives: { receipt?: Receipt }[] };
  const given = told.archives.flatMap(({ receipt }) => receipt ?? []);
  expect(told.versionHash).toBe(NAME);
  expect(given.length).toBeGreaterThanOrEqual(2);
  const [place] = (await scenes[0]?.record(NAME))?.occurrences ?? [];
  const { txid, vout, height, blockHash } = place ?? {};
  const facts = { versionHash: NAME, hashType: 'keccak256', sizeBytes: 700, txid, vout, height, blockHash };
  for (const { statement } of given) expect(statement).toMatchObject(facts);
  expect(new Set(given.map(({ statement }) => statement.key)).size).toBe(given.length);
  // Offline, against keys that are known.
  expect(await verify(...known(...keys))).toMatchObject({ code: 0 });
  expect(await verify()).toMatchObject({ code: 1, stdout: expect.stringContaining('give --key') });
  expect(await verify('--key', 'ab'.repeat(32))).toMatchObject({ code: 3, stdout: expect.stringContaining('WRONG') });
  // The receipt is signed once, and given again as it is.
  const [url = ''] = urls;
  expect(await receiptAt(url, versionHash)).toEqual(await receiptAt(url, versionHash));
  await eventually(async () => {
    const absent = await fetch(`${url}/v1/receipts/${'0c'.repeat(32)}`);
    expect([absent.status, ((await absent.json()) as { code: string }).code]).toEqual([404, 'blob/absent']);
  });
});

const lies: readonly [string, string, (truth: Receipt, liar: TestSigner) => unknown][] = [
  [
    'of another blob',
    'lied',
    (truth, liar) => changed(truth, liar, { versionHash: parseVersionHash('0d'.repeat(32)) }),
  ],
  ['with a wrong signature', 'lied', (truth) => ({ ...truth, signature: '00'.repeat(64) })],
  ['with a key that nobody knows', 'lied', (truth) => changed(truth, testSigner(), {})],
  [
    'of a block that is not final, nor on the chain',
    'waiting',
    (truth, liar) => changed(truth, liar, { blockHash: parseBlockHash('0e'.repeat(32)) }),
  ],
  ['that is none', 'lied', () => ({ stored: true, final: true })],
];

function changed({ statement }: Receipt, by: TestSigner, change: Partial<ReceiptStatement>): Receipt {
  return { ...signedBy({ ...statement, key: by.key, ...change }, by), keys: [] };
}

test.each(lies)('a lying archive, with a receipt %s, does not count: the other two do', async (_says, outcome, lie) => {
  const { scenes, keys, submit, verify } = await threeArchives();
  const [one, two, third] = scenes;
  if (one === undefined || two === undefined || third === undefined) throw new RangeError('three were started');
  const liar = testSigner();
  const lied = Promise.withResolvers<void>();
  const lyingUrl = await standingBefore(third, async (truth) => {
    lied.resolve();
    return lie(truth, liar);
  });
  // The second one answers when the liar has lied: it is not over before.
  const patient = await standingBefore(two, async (truth) => {
    await lied.promise;
    return truth;
  });
  const urls = archives(lyingUrl, one.url, patient);
  const knownOnes = known(...keys, liar.key);
  const { code, stdout } = await submit('--receipt', '2', ...urls, ...knownOnes);
  expect(code).toBe(0);
  expect(outcomes(stdout).slice(1)).toEqual(['receipt', 'receipt']);
  expect(['waiting', outcome]).toContain(outcomes(stdout)[0]);
  expect(await verify(...knownOnes)).toMatchObject({ code: 0, stdout: expect.stringContaining('Receipts of 2') });
});

test('one archive under two addresses counts once: what came is printed, and the exit code is 1', async () => {
  const { scenes, keys, submit, verify } = await threeArchives();
  const [one] = scenes;
  if (one === undefined) throw new RangeError('three were started');
  const again = await standingBefore(one, async (truth) => truth);
  const { code, stdout } = await submit('--receipt', '2', ...archives(one.url, again), ...known(...keys));
  expect([code, outcomes(stdout).sort()]).toEqual([1, ['receipt', 'same-archiver']]);
  expect(await verify(...known(...keys))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Receipts of 1'),
  });
});
