import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import {
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlock,
} from '../../src/verify/index.ts';
import { call } from '../devnode/rpc-client.ts';

const BYTES = new TextEncoder().encode('what was put on chain');
let folder: string;
let devnode: Devnode;
let record: OccurrenceRecord;

function sink(): Writable & { text: string } {
  const stream = Object.assign(
    new Writable({
      write(chunk, _, done) {
        stream.text += String(chunk);
        done();
      },
    }),
    { text: '' },
  );
  return stream;
}

async function holdfast(words: readonly string[], nodeUrl: string | null = null) {
  const stdout = sink();
  const stderr = sink();
  const env = nodeUrl === null ? {} : { HOLDFAST_NODE_URL: nodeUrl };
  const { signal } = new AbortController();
  const code = await runCli(words, { stdout, stderr, env, cwd: folder, signal });
  return { code, out: stdout.text, err: stderr.text };
}

function nodeUrl(): string {
  return devnode.url.replace('//', `//${devnode.username}:${devnode.password}@`);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-verify-'));
  devnode = await createDevnode({ seed: 'cli verify' });
  const { txid } = devnode.submitBlob(BYTES, { hashType: 'blake2s256' });
  const [mined] = devnode.mine();
  const { result } = await call(devnode, 'getblock', [mined?.hash, 0]);
  const block = parseBlock(Buffer.from(String(result), 'hex'));
  const occurrence = occurrencesOf(block).occurrences.find((found) => found.txid === txid);
  if (occurrence === undefined || mined === undefined) throw new Error('It was mined.');
  record = makeOccurrenceRecord(block, occurrence, { size: BYTES.length, height: mined.height });
  await writeFile(join(folder, 'blob'), BYTES);
  await writeFile(join(folder, 'other'), 'something else');
  await writeFile(join(folder, 'record.json'), encodeOccurrenceRecord(record));
  await writeFile(join(folder, 'wrong.json'), encodeOccurrenceRecord({ ...record, height: record.height + 1 }));
  await writeFile(join(folder, 'torn.json'), encodeOccurrenceRecord(record).slice(0, 300));
});
afterAll(async () => {
  await devnode.close();
  await rm(folder, { recursive: true });
});

describe('against a version hash', () => {
  test('accepts a file with that hash', async () => {
    for (const hash of [record.versionHash, `0x01${record.versionHash}`]) {
      const { code, out } = await holdfast(['verify', 'blob', '--hash', hash]);
      expect([code, out]).toEqual([0, `ok      The 21 bytes hash (blake2s256) to ${record.versionHash}.\n`]);
    }
  });

  test('rejects a file with another hash', async () => {
    const { code, out } = await holdfast(['verify', 'other', '--hash', record.versionHash]);
    expect(code).toBe(3);
    expect(out).toContain('WRONG   The bytes do not hash (keccak256 and blake2s256)');
  });

  test('nothing to compare with is a usage error that tells both hashes', async () => {
    const { code, err } = await holdfast(['verify', 'blob']);
    expect(code).toBe(2);
    expect(err).toContain(`blake2s256 ${record.versionHash}`);
    expect(err).toContain('keccak256 ');
  });
});

describe('against a record', () => {
  test('without a node: included in a header, and no more is said', async () => {
    const { code, out } = await holdfast(['verify', 'blob', '--proof', 'record.json']);
    expect(code).toBe(0);
    expect(out.match(/^ok {6}/gm)).toHaveLength(5);
    expect(out).toContain(`Included in header ${record.blockHash}`);
    expect(out).not.toMatch(/on chain/i);
  });

  test("an archive's answer: the first of its records is checked, and the output says so", async () => {
    const one = JSON.parse(encodeOccurrenceRecord(record));
    await writeFile(join(folder, 'one.json'), JSON.stringify({ records: [one] }));
    await writeFile(join(folder, 'two.json'), JSON.stringify({ records: [one, { ...one, vout: 99 }] }));
    await writeFile(join(folder, 'none.json'), JSON.stringify({ records: [] }));
    const alone = await holdfast(['verify', 'blob', '--proof', 'record.json']);
    expect(await holdfast(['verify', 'blob', '--proof', 'one.json'])).toEqual(alone);
    const first = await holdfast(['verify', 'blob', '--proof', 'two.json']);
    expect(first).toEqual({
      ...alone,
      out: `ok      The file holds 2 occurrence records; the first is checked.\n${alone.out}`,
    });
    expect(await holdfast(['verify', 'blob', '--proof', 'none.json'])).toMatchObject({
      code: 3,
      out: expect.stringContaining('WRONG   The file holds 0 occurrence records.'),
    });
  });

  test('with a node that has the header', async () => {
    const words = ['verify', 'blob', '--proof', 'record.json', '--hash', record.versionHash];
    const { code, out } = await holdfast(words, nodeUrl());
    expect(code).toBe(0);
    expect(out).toContain(`Header ${record.blockHash} is on chain at height ${record.height}`);
  });

  test('with a node that cannot be asked', async () => {
    const { code, out } = await holdfast(['verify', 'blob', '--proof', 'record.json'], 'http://127.0.0.1:1');
    expect(code).toBe(1);
    expect(out).toContain('?       The node could not be asked');
  });

  test('with a node of another chain', async () => {
    const other = await createDevnode({ seed: 'another chain', initialBlocks: 300 });
    try {
      const url = other.url.replace('//', `//${other.username}:${other.password}@`);
      const { code, out } = await holdfast(['verify', 'blob', '--proof', 'record.json'], url);
      expect([code, out]).toEqual([3, expect.stringContaining('WRONG   The node has no header')]);
    } finally {
      await other.close();
    }
  });

  test('with another height than the node says', async () => {
    const { code, out } = await holdfast(['verify', 'blob', '--proof', 'wrong.json'], nodeUrl());
    expect([code, out]).toEqual([3, expect.stringContaining(`at height ${record.height}, the record says`)]);
  });

  test.each([
    ['other bytes', ['other', '--proof', 'record.json'], 'The file has 14 bytes, the record says 21'],
    ['no record', ['blob', '--proof', 'torn.json'], 'The record is no JSON'],
    [
      'a record of something else',
      ['blob', '--proof', 'record.json', '--hash', '0'.repeat(64)],
      'The record is of blake2s256',
    ],
  ])('%s: wrong, and no node is asked', async (_, words, sentence) => {
    const { code, out } = await holdfast(['verify', ...words], 'http://127.0.0.1:1');
    expect(code).toBe(3);
    expect(out).toContain(sentence);
    expect(out).not.toContain('could not be asked');
  });

  test('a file that is not there could not be read', async () => {
    const { code, err } = await holdfast(['verify', 'blob', '--proof', 'absent.json']);
    expect(code).toBe(1);
    expect(err).toContain('absent.json cannot be read');
  });

  test('prints the verdict as JSON', async () => {
    const { code, out } = await holdfast(['verify', 'blob', '--proof', 'record.json', '--json'], nodeUrl());
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      file: 'blob',
      sizeBytes: 21,
      verified: true,
      chain: { kind: 'on-chain', confirmations: 1 },
      steps: [
        { step: 'bytes', ok: true },
        { step: 'output' },
        { step: 'transaction' },
        { step: 'merkle' },
        { step: 'header' },
      ],
    });
  });
});
