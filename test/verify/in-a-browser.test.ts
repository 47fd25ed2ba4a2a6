import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { encodeOccurrenceRecord, makeOccurrenceRecord, occurrencesOf, parseBlockHex } from '../../src/verify/index.ts';
import { SOURCE_FILES } from '../source-files.ts';
import { blobs, blockOf, bytesOf } from './recorded-chain.ts';
import { mergedBlocks } from './recorded-merge-mining.ts';

const ENTRY = 'src/verify/index.ts';

/** All that the entry imports, and what that imports. */
function reachable(): typeof SOURCE_FILES {
  const found = new Set([ENTRY]);
  for (const path of found) {
    for (const next of SOURCE_FILES.find((file) => file.path === path)?.imports ?? []) found.add(next);
  }
  return SOURCE_FILES.filter(({ path }) => found.has(path));
}

test('nothing that only Node has is imported or named', () => {
  const files = reachable();
  expect(files.length).toBeGreaterThan(15);
  const packages = new Set(files.flatMap((file) => file.packages.map((name) => name.split('/').slice(0, 2).join('/'))));
  expect([...packages].sort()).toEqual(['@noble/hashes']);
  for (const { path, code } of files) {
    expect(/\b(?:Buffer|process|require|__dirname|setImmediate|global)\b/.exec(code)?.[0], path).toBeUndefined();
  }
});

test('a record and a run of headers are verified where Node’s own globals are gone', async () => {
  const [, blob] = blobs;
  if (blob === undefined) throw new Error('There are 23.');
  const { view, hex } = blockOf(blob.txid);
  const block = parseBlockHex(hex);
  const occurrence = occurrencesOf(block).occurrences.find(({ txid }) => txid === blob.txid);
  if (occurrence === undefined) throw new Error('It is in there.');
  const record = makeOccurrenceRecord(block, occurrence, { size: blob.size, height: view.height });
  const script = `
    const exit = process.exit.bind(process);
    const write = console.log;
    for (const name of ['Buffer', 'process', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name];
    const verify = await import(${JSON.stringify(new URL(`../../${ENTRY}`, import.meta.url).href)});
    const record = verify.parseOccurrenceRecord(${JSON.stringify(encodeOccurrenceRecord(record))});
    const bytes = Uint8Array.fromHex(${JSON.stringify(Buffer.from(bytesOf(blob)).toString('hex'))});
    const [headers, checkpoint] = ${JSON.stringify([mergedBlocks.map(({ header }) => header).join('\n'), `120:${mergedBlocks[0]?.previousHash}`])};
    const rules = { profile: verify.CHAIN_PROFILES.regtest, leastWork: 2n, checkpoint: verify.parseCheckpoint(checkpoint) };
    const run = verify.checkHeaderRun(verify.parseHeaderLines(headers), rules);
    const { reached } = verify.verifyProof(bytes, record, { profile: verify.CHAIN_PROFILES.regtest });
    write(JSON.stringify([typeof Buffer, verify.verifyOccurrence(bytes, record).ok, reached, run.lastHeight]));
    exit(0);
  `;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-browser-'));
  try {
    const file = join(folder, 'page.mjs');
    await writeFile(file, script);
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(JSON.parse(stdout)).toEqual(['undefined', true, 'work', 124]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
