import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../src/devnode/index.ts';
import { beforeAllSharing } from '../cleanup.ts';
import { cli } from '../cli/cli-in-process.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type ArchiveProcess, environmentOf, startArchive, startNode, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';
import { type Ended, HoldfastProcess, holdfast } from './holdfast-process.ts';

const SIXTEEN = '4e41dd47d89096a2eaaff50b2c2f987d441e4d826969046f400488bd02cc3cc7';
const NOBODY = 'ab'.repeat(32);

const MINED = z.object({
  occurrences: z.tuple([z.object({ txid: z.string(), state: z.enum(['mined', 'final']) })], z.unknown()),
});

let node: Devnode;
let daemon: ArchiveProcess;
let env: Record<string, string>;

beforeAllSharing(async (atEnd) => {
  node = await startNode({ seedRecordedBlobs: true }, atEnd);
  const setup = { dataDir: temporaryFolder(atEnd), node };
  daemon = await startArchive({ ...setup, atEnd });
  env = environmentOf(setup);
  await untilStored(daemon, 22);
});

const ask = (...words: string[]): Promise<Ended> => holdfast(words, { env, cwd: temporaryFolder() });
const json = (ended: Ended): unknown => JSON.parse(ended.stdout);

describe('get', () => {
  test('writes the bytes to a file, and says what they are', async () => {
    const output = join(temporaryFolder(), 'blob');
    const said = json(await ask('get', SIXTEEN, '-o', output, '--json'));
    expect(said).toEqual({ versionHash: SIXTEEN, hashType: 'blake2s256', sizeBytes: 16, file: output });
    expect(readFileSync(output).equals(sampleBytes('sixteen blake', 16))).toBe(true);
  });

  test('writes the bytes, and nothing else, to standard output', async () => {
    const asking = new HoldfastProcess(['get', SIXTEEN], { env });
    expect(await asking.ended).toMatchObject({ code: 0, stderr: '' });
    expect(asking.stdout.equals(sampleBytes('sixteen blake', 16))).toBe(true);
  });

  test('writes into a pipe that is named as the file, and does not put a file in its place', async () => {
    const pipe = join(temporaryFolder(), 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    const reading = readFile(pipe);
    expect(await ask('get', SIXTEEN, '-o', pipe)).toMatchObject({ code: 0, stderr: '' });
    expect((await reading).equals(sampleBytes('sixteen blake', 16))).toBe(true);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  test('ends with exit code 3 for an unpublished hash, and writes no file', async () => {
    const output = join(temporaryFolder(), 'blob');
    // "Ask again" is a right answer too, while the node's list is read.
    const stderr = await eventually(async () => {
      const ended = await ask('get', NOBODY, '-o', output);
      expect(ended).toMatchObject({ code: 3, stdout: '' });
      return ended.stderr;
    });
    expect(stderr).toBe(`holdfast: the archive has not got ${NOBODY}, as a version hash or as a mined transaction.\n`);
    expect(existsSync(output)).toBe(false);
  });

  test('takes the id of the transaction as well, and says which blob that is', async () => {
    const txid = await eventually(async () => {
      const { body } = await daemon.client.get(`/v1/blobs/${SIXTEEN}/record`);
      return MINED.parse(JSON.parse(body.toString())).occurrences[0].txid;
    });
    const output = join(temporaryFolder(), 'blob');
    const said = json(await ask('get', txid, '-o', output, '--json'));
    expect(said).toEqual({ versionHash: SIXTEEN, hashType: 'blake2s256', sizeBytes: 16, file: output });
    expect(readFileSync(output).equals(sampleBytes('sixteen blake', 16))).toBe(true);
  });

  test('into a folder that is not there is exit code 1, with the path, and leaves nothing', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'here'));
    const { code, stderr } = await cli(['get', SIXTEEN, '-o', join(folder, 'nowhere', 'blob')], env);
    expect(code).toBe(1);
    expect(stderr).toContain(join(folder, 'nowhere', 'blob'));
    expect(readdirSync(folder)).toEqual(['here']);
  });

  test('without any archive to ask is exit code 1, and says what to start', async () => {
    const { code, stderr } = await cli(['get', SIXTEEN, '--http-port', '9']);
    expect(code).toBe(1);
    expect(stderr).toContain('No holdfast daemon answers at http://127.0.0.1:9');
    expect(stderr).toContain('holdfast run');
  });

  test('from something that is no archive is exit code 1, and says so', async () => {
    const { code, stderr } = await cli(['get', SIXTEEN, '--url', node.url]);
    expect(code).toBe(1);
    expect(stderr).toContain('is not a holdfast daemon');
  });
});

describe('status', () => {
  test('finds the daemon of the data folder and says how it does', async () => {
    const { code, stdout } = await ask('status');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Nothing is at risk\.$/m);
    expect(stdout).toContain(`at ${daemon.client.url}`);
    expect(stdout).toMatch(/^final +to height \d+ \(chainlock\)$/m);
    expect(stdout).toMatch(/^local +\| in use \| +0 \| +- \| +0 \| +[\d.]+ \w+$/m);
    expect(stdout).toMatch(/chain\s+the one that the node follows/);
    expect(stdout).toMatch(/stored\s+2[2-9] blobs, 5\.\d MiB/);
    expect(JSON.parse((await cli(['status', '--json'], env)).stdout)).toMatchObject({
      emulated: false,
      conditions: [],
    });
  });

  test('shows the disk and the jobs of the daemon, and with --check ends with 0 where nothing is at risk', async () => {
    const { code, stdout } = await ask('status', '--check');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^disk +\S+ \w+ free; the data folder keeps 5\.\d MiB$/m);
    expect(stdout).toMatch(/^jobs? +/m);
    expect(JSON.parse((await ask('status', '--json', '--check')).stdout)).toMatchObject({ jobs: expect.any(Array) });
  });

  test.each(['--check', '--json'])('--watch does not go with %s', async (other) => {
    const { code, stderr } = await cli(['status', '--watch', other]);
    expect(code).toBe(2);
    expect(stderr).toContain(`'--watch' cannot be used with option '${other}'`);
  });

  test.each([[], ['--check']])('without a daemon is exit code 1 %j', async (...words) => {
    const { code, stderr } = await cli(['status', '--http-port', '9', ...words]);
    expect(code).toBe(1);
    expect(stderr).toContain('No holdfast daemon answers at http://127.0.0.1:9');
  });
});

describe('submit', () => {
  test('a file becomes a blob of the chain, and comes out of the archive', async () => {
    const file = join(temporaryFolder(), 'mine');
    const bytes = sampleBytes('submitted by a user', 70_000);
    writeFileSync(file, bytes);
    const { code, stdout } = await ask('submit', file, '--json');
    expect(code).toBe(0);
    const [, versionHash = ''] = /"versionHash": "([0-9a-f]{64})"/.exec(stdout) ?? [];
    await eventually(async () => {
      expect((await daemon.client.blob(versionHash)).body.equals(bytes)).toBe(true);
    });
  });

  test('a blob that no node takes is refused before it is sent', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'large'), Buffer.alloc(2_097_153));
    const large = await cli(['submit', join(folder, 'large')], env);
    expect(large.code).toBe(2);
    expect(large.stderr).toContain('has 2097153 bytes; a blob has at most 2097152');
    writeFileSync(join(folder, 'empty'), '');
    const empty = await cli(['submit', join(folder, 'empty')], env);
    expect(empty.code).toBeGreaterThan(0);
    expect(empty.stderr).toMatch(/^holdfast: .*1/);
    expect((await cli(['submit', join(folder, 'absent')], env)).stderr).toContain(join(folder, 'absent'));
  });
});
