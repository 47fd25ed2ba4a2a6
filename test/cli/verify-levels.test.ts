import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import {
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlockHash,
  parseBlockHex,
} from '../../src/verify/index.ts';
import { SharedByTests } from '../cleanup.ts';
import { call } from '../devnode/rpc-client.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { doubleSha } from '../verify/craft.ts';
import { mineHeader } from '../verify/craft-merge-mining.ts';
import { mergedBlocks } from '../verify/recorded-merge-mining.ts';
import { cli } from './cli-in-process.ts';

const [first, , , last] = mergedBlocks;
if (first === undefined || last?.blob === undefined) throw new Error('The fourth carries a blob.');
const CHECKPOINT = `${first.height - 1}:${first.previousHash}`;
const REGTEST = ['--network', 'regtest'];
const RUN = ['--headers', 'headers.txt', '--checkpoint', CHECKPOINT];
const shared = new SharedByTests();
let folder: string;
let record: OccurrenceRecord;

function recordOf(blockHex: string, size: number, height: number): OccurrenceRecord {
  const block = parseBlockHex(blockHex);
  const [occurrence] = occurrencesOf(block).occurrences;
  if (occurrence === undefined) throw new Error('It carries one.');
  return makeOccurrenceRecord(block, occurrence, { size, height });
}

/** A record whose header was made at home around the Merkle root that it wants. */
function underOwnHeader(bits: number): OccurrenceRecord {
  const merkleRoot = Buffer.from(record.header, 'hex').subarray(36, 68);
  const header = mineHeader({ merkleRoot, bits });
  const merkleProof = `${header.toString('hex')}${record.merkleProof.slice(record.header.length)}`;
  const blockHash = parseBlockHash(doubleSha(header).reverse().toString('hex'));
  return { ...record, header: header.toString('hex'), blockHash, merkleProof };
}

const holdfast = (words: readonly string[], env: Record<string, string> = {}) => cli(words, env, folder);
const verify = (...words: readonly string[]) => holdfast(['verify', 'blob', '--proof', 'record.json', ...words]);

beforeAll(async () => {
  folder = temporaryFolder(shared.atEnd);
  const bytes = Buffer.from(last.blob?.data ?? '', 'hex');
  record = recordOf(last.block, bytes.length, last.height);
  const headers = mergedBlocks.map(({ header }) => header);
  await writeFile(join(folder, 'blob'), bytes);
  await writeFile(join(folder, 'record.json'), encodeOccurrenceRecord(record));
  await writeFile(join(folder, 'own.json'), encodeOccurrenceRecord(underOwnHeader(0x1701f303)));
  await writeFile(join(folder, 'moved.json'), encodeOccurrenceRecord({ ...record, height: record.height - 1 }));
  await writeFile(join(folder, 'headers.txt'), `${headers.join('\n')}\n`);
  await writeFile(join(folder, 'short.txt'), `${headers.slice(0, 3).join('\n')}\n`);
  await writeFile(join(folder, 'torn.txt'), `${headers.join('\n').slice(0, -2)}\n`);
  await writeFile(join(folder, 'gap.txt'), `${headers.toSpliced(1, 1).join('\n')}\n`);
});
afterAll(shared.close);

describe('a proof of a chain whose work is trivial', () => {
  test('is verified at the level inclusion, and its work is told beside it', async () => {
    const { code, stdout } = await verify();
    expect(code).toBe(0);
    expect(stdout.match(/^ok {6}/gm)).toHaveLength(5);
    expect(stdout).toContain('note    Making header');
    expect(stdout).toContain(
      'work of 2^1 hashes, which any computer does in seconds; no header of main takes so little',
    );
    expect(stdout).toMatch(/\nVerified at the level inclusion\.\n$/);
  });

  test('is not verified at the level work by the rules of the main network', async () => {
    const { code, stdout } = await verify('--level', 'work');
    expect([code, stdout]).toEqual([3, expect.stringContaining('WRONG   Making header')]);
    expect(stdout).toMatch(/\nNOT verified at the level work\.\n$/);
    const json = await verify('--level', 'work', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      level: 'work',
      verified: false,
      reached: 'inclusion',
      work: { kind: 'too-little', code: 'verify/target-too-easy', hashes: '2', log2: 1, network: 'main' },
    });
  });

  test('is verified at the level work where the network is said to be regtest, up to the least work', async () => {
    expect(await verify('--level', 'work', ...REGTEST)).toMatchObject({ code: 0 });
    expect(await verify('--level', 'work', ...REGTEST, '--least-work', '2')).toMatchObject({ code: 0 });
    expect(await verify('--level', 'work', ...REGTEST, '--least-work', '2^40')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('at least work of 2^40 hashes is asked for'),
    });
  });
});

test('a proof under a header of one’s own making has no work to show', async () => {
  const words = ['verify', 'blob', '--proof', 'own.json', '--json'];
  const included = JSON.parse((await holdfast(words)).stdout);
  expect(included).toMatchObject({ verified: true, level: 'inclusion', reached: 'inclusion' });
  const { code, stdout } = await holdfast([...words, '--level', 'work']);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({
    verified: false,
    level: 'work',
    work: { kind: 'refused', code: 'verify/work-insufficient', hashes: null },
  });
});

test('no level of a proof is claimed for bytes alone', async () => {
  const { stdout } = await holdfast(['verify', 'blob', '--hash', record.versionHash, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ level: 'bytes', verified: true, work: null, headers: null, chain: null });
});

describe('headers from a checkpoint on', () => {
  test('ask for the level chain, and show it', async () => {
    const { code, stdout } = await verify(...REGTEST, ...RUN);
    expect(code).toBe(0);
    expect(stdout).toContain('is at height 124 of the headers from the checkpoint at height 120 on');
    expect(stdout).toContain('a day of this chain at that time is work of 2^');
    expect(stdout).not.toContain('Only a node can tell');
    expect(stdout).toMatch(/\nVerified at the level chain\.\n$/);
    const json = JSON.parse((await verify(...REGTEST, ...RUN, '--json')).stdout);
    expect(json).toMatchObject({ level: 'chain', verified: true, reached: 'chain' });
    expect(json.headers).toMatchObject({ kind: 'contains', hashes: '2', hashesADay: expect.stringMatching(/^\d+$/) });
  });

  test.each<[string, number, readonly string[], string]>([
    ['of another network', 3, RUN, 'WRONG   The header at height 121 of the run does not count'],
    ['with one left out', 3, [...REGTEST, '--headers', 'gap.txt', '--checkpoint', CHECKPOINT], 'does not name'],
    ['torn', 3, [...REGTEST, '--headers', 'torn.txt', '--checkpoint', CHECKPOINT], 'Line 4 is no block header'],
    ['that end before', 1, [...REGTEST, '--headers', 'short.txt', '--checkpoint', CHECKPOINT], '?       The record'],
    [
      'after another checkpoint',
      3,
      [...REGTEST, '--headers', 'headers.txt', '--checkpoint', `1:${'0'.repeat(64)}`],
      'neither the checkpoint',
    ],
  ])('%s: exit code %i', async (_, expected, words, sentence) => {
    const { code, stdout } = await verify(...words);
    expect([code, stdout]).toEqual([expected, expect.stringContaining(sentence)]);
    expect(stdout).toContain('NOT verified at the level chain.');
  });

  test('with another height than the record says', async () => {
    const { code, stdout } = await holdfast(['verify', 'blob', '--proof', 'moved.json', ...REGTEST, ...RUN]);
    expect([code, stdout]).toEqual([3, expect.stringContaining('at height 124 of the run, the record says 123')]);
  });
});

describe('usage', () => {
  test.each<[string, readonly string[], string]>([
    ['no such level', ['--level', 'sure'], '--level takes inclusion, work, chain'],
    ['no such network', ['--network', 'moon'], '--network takes main, test, regtest'],
    ['no number of hashes', ['--least-work', 'much'], '--least-work takes a number of hashes'],
    ['more hashes than there are', ['--least-work', '2^300'], '--least-work takes a number of hashes'],
    ['headers without a checkpoint', ['--headers', 'headers.txt'], 'give --checkpoint'],
    ['a checkpoint without headers', ['--checkpoint', CHECKPOINT], 'there are none'],
    ['no checkpoint', ['--headers', 'headers.txt', '--checkpoint', 'latest'], 'is no checkpoint'],
    ['the level chain without a source', ['--level', 'chain'], 'Nothing was named'],
  ])('%s', async (_, words, sentence) => {
    expect(await verify(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
  });

  test('a level without a proof', async () => {
    const { code, stderr } = await holdfast(['verify', 'blob', '--hash', record.versionHash, '--level', 'work']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no proof was given')]);
  });
});

describe('with the emulated node', () => {
  let devnode: Devnode;
  beforeAll(async () => {
    devnode = await createDevnode({ seed: 'levels of a proof' });
  });
  afterAll(() => devnode.close());

  test('the node’s word shows the level chain, and so do its headers', async () => {
    const bytes = new TextEncoder().encode('a blob with a history');
    devnode.submitBlob(bytes);
    const [mined] = devnode.mine();
    if (mined === undefined) throw new Error('One block was mined.');
    const raw = await call(devnode, 'getblock', [mined.hash, 0]);
    await writeFile(join(folder, 'mine'), bytes);
    await writeFile(
      join(folder, 'mine.json'),
      encodeOccurrenceRecord(recordOf(String(raw.result), bytes.length, mined.height)),
    );
    const env = { HOLDFAST_NODE_URL: devnode.url.replace('//', `//${devnode.username}:${devnode.password}@`) };
    // The commands are those of the README.
    const rpc = async (...call: readonly string[]) => (await holdfast(['rpc', ...call], env)).stdout;
    let headers = '';
    for (let height = mined.height - 3; height <= mined.height; height += 1) {
      headers += await rpc('getblockheader', (await rpc('getblockhash', String(height))).trim(), 'false');
    }
    await writeFile(join(folder, 'mine.txt'), headers);
    const trusted = (await rpc('getblockhash', String(mined.height - 3))).trim();

    const words = ['verify', 'mine', '--proof', 'mine.json', '--json', ...REGTEST];
    const run = ['--headers', 'mine.txt', '--checkpoint', `${mined.height - 3}:${trusted}`];
    for (const asked of [holdfast([...words, ...run]), holdfast([...words, '--level', 'chain'], env)]) {
      const { code, stdout } = await asked;
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { verified: true, reached: 'chain' }]);
    }
    const silent = await holdfast([...words, ...run], { HOLDFAST_NODE_URL: 'http://127.0.0.1:1' });
    expect(silent).toMatchObject({ code: 0, stdout: expect.stringContaining('"reached": "chain"') });
    const nobody = await holdfast([...words, '--level', 'chain'], { HOLDFAST_NODE_URL: 'http://127.0.0.1:1' });
    expect([nobody.code, JSON.parse(nobody.stdout)]).toMatchObject([1, { verified: false, reached: 'work' }]);
  });
});
