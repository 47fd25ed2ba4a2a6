import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { writtenConfig } from '../../src/cli/written-config.ts';
import { loadConfig, SETTING_NAMES, SETTINGS } from '../../src/config/index.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { beforeAllSharing } from '../cleanup.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { cli } from './cli-in-process.ts';

const PASSWORD = 'init-password-never-to-be-seen';

const valuesOf = (file: string) => loadConfig({ env: {}, flags: {}, file, cwd: '/' }).values;

function fileOf(text: string): string {
  const file = join(temporaryFolder(), 'holdfast.yaml');
  writeFileSync(file, text);
  return file;
}

describe('a written configuration file', () => {
  test('says the defaults in its comments: without the # the file is a configuration that changes nothing', () => {
    const text = writtenConfig(new Map());
    const uncommented = text.replaceAll(/^( *)#(?=\S)/gm, '$1');
    expect(uncommented).not.toBe(text);
    expect(valuesOf(fileOf(uncommented))).toEqual(valuesOf(fileOf('{}')));
  });

  test('explains every setting, and has a place for every one that is no secret', () => {
    const text = writtenConfig(new Map());
    for (const name of SETTING_NAMES) {
      const { says, secret, env, key } = SETTINGS[name];
      expect(text).toContain(`# ${says}`);
      if (secret === true || secret === 'address') expect(text).toContain(`n ${env} or ${env}_FILE.`);
      if (secret !== true) expect(text).toMatch(new RegExp(`^ *#${key.split('.').at(-1)}: `, 'm'));
    }
  });
});

describe('holdfast init', () => {
  let node: Devnode;
  beforeAllSharing(async (atEnd) => {
    node = await createDevnode({ password: PASSWORD });
    atEnd(() => node.close());
  });
  const words = (output: string, ...more: string[]) => ['init', '--output', output, '--node-url', node.url, ...more];
  const env = () => ({ HOLDFAST_NODE_USER: node.username, HOLDFAST_NODE_PASSWORD: PASSWORD });

  test('asks the node, writes what flags and environment say and no secret, for its owner alone', async () => {
    const output = join(temporaryFolder(), 'made.yaml');
    const { code, stdout } = await cli(words(output, '--http-port', '9999', '--finality', 'depth:6'), env());
    expect(code).toBe(0);
    expect(stdout).toMatch(/^good {3}node: It answers: chain \w+, height \d+\.$/m);
    expect(stdout).toContain(`next   holdfast run --config ${output}\n`);
    const text = readFileSync(output, 'utf8');
    expect(text).not.toContain(PASSWORD);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const expected = {
      nodeUrl: node.url,
      nodeUser: node.username,
      nodePassword: null,
      httpPort: 9_999,
      finality: 'depth:6',
    };
    expect(valuesOf(output)).toEqual({ ...valuesOf(fileOf('{}')), ...expected });
  });

  test('keeps the password of a peer out of the file, however the peer is written', async () => {
    const output = join(temporaryFolder(), 'made.yaml');
    const peers = `https://me:${PASSWORD}@a.example peer=https://me:${PASSWORD}@b.example/x s3=bucket dir=/blobs`;
    await cli(words(output), { ...env(), HOLDFAST_PEERS: peers });
    expect(readFileSync(output, 'utf8')).not.toContain(PASSWORD);
    expect(valuesOf(output).peers).toBe('https://a.example peer=https://b.example/x s3=bucket dir=/blobs');
  });

  test('keeps user and password of an address out of the file', async () => {
    const output = join(temporaryFolder(), 'made.yaml');
    const url = node.url.replace('//', `//${node.username}:${PASSWORD}@`);
    expect((await cli(['init', '--output', output], { HOLDFAST_NODE_URL: url })).code).toBe(0);
    expect(readFileSync(output, 'utf8')).not.toContain(PASSWORD);
    expect(valuesOf(output).nodeUrl).toBe(node.url);
  });

  test('names what does not answer with exit code 1, and writes the file all the same', async () => {
    const output = join(temporaryFolder(), 'made.yaml');
    const bucket = [
      '--s3-endpoint',
      'http://127.0.0.1:9',
      '--s3-bucket',
      'blobs',
      '--ipfs-api-url',
      'http://127.0.0.1:9',
    ];
    const { code, stdout } = await cli(words(output, ...bucket, '--s3-access-key-id', 'key'), {
      HOLDFAST_NODE_PASSWORD: 'wrong',
      HOLDFAST_S3_SECRET_ACCESS_KEY: PASSWORD,
    });
    expect(code).toBe(1);
    for (const place of ['node', 's3', 'ipfs']) expect(stdout).toMatch(new RegExp(`^FAULT {2}${place}: `, 'm'));
    expect(valuesOf(output)).toMatchObject({
      s3Bucket: 'blobs',
      s3AccessKeyId: 'key',
      ipfsApiUrl: 'http://127.0.0.1:9',
    });
    expect(readFileSync(output, 'utf8') + stdout).not.toContain(PASSWORD);
  });

  describe('on a terminal', () => {
    /** Runs the command for a person who reads each question and then types these keys. */
    async function asked(typed: readonly (readonly [question: string, keys: string])[], words: readonly string[] = []) {
      const folder = temporaryFolder();
      const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
      const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 200, rows: 50 });
      const stderr = new PassThrough();
      const said = Promise.all([text(stdout), text(stderr)]);
      const left = [...typed];
      let shown = '';
      stdout.on('data', (chunk: Buffer) => {
        shown += chunk.toString('utf8');
        const [next] = left;
        if (next === undefined || !shown.includes(next[0])) return;
        left.shift();
        shown = '';
        // Each key is a key press of its own.
        for (const key of next[1]) stdin.write(key);
      });
      const signal = AbortSignal.timeout(240_000);
      const code = await runCli(['init', ...words], { stdin, stdout, stderr, env: {}, cwd: folder, signal });
      stdout.end();
      stderr.end();
      const [out, err] = await said;
      const file = join(folder, 'holdfast.yaml');
      return { code, out, err, file, left, text: existsSync(file) ? readFileSync(file, 'utf8') : null };
    }
    const ENTER = '\r';

    test('asks for node, places, finality and port, probes them, and writes the answers without the secrets', async () => {
      const {
        code,
        out,
        err,
        file,
        left,
        text: written,
      } = await asked([
        ['Address of the node', `${node.url}${ENTER}`],
        ['User name for the node', `${node.username}${ENTER}`],
        ['Password for the node', `${PASSWORD}${ENTER}`],
        ['Data folder', ENTER],
        ['Where are blobs kept', ` ${ENTER}`],
        ['Address of the S3 server', `http://127.0.0.1:9${ENTER}`],
        ['Bucket', `blobs${ENTER}`],
        ['Region', ENTER],
        ['Access key id', `key${ENTER}`],
        ['Secret access key', `${PASSWORD}${ENTER}`],
        ['Finality', `depth:6${ENTER}`],
        ['Port of the HTTP API', ENTER],
      ]);
      expect({ left, err }).toEqual({ left: [], err: '' });
      // The bucket does not answer, and is named.
      expect(code).toBe(1);
      expect(out).toMatch(/good {3}node: It answers: chain \w+, height \d+\.$/m);
      expect(out).toMatch(/^FAULT {2}s3: /m);
      expect(out).toContain('secret HOLDFAST_NODE_PASSWORD is not in the file');
      expect(out + written).not.toContain(PASSWORD);
      expect(valuesOf(file)).toEqual({
        ...valuesOf(fileOf('{}')),
        ...{ nodeUrl: node.url, nodeUser: node.username, finality: 'depth:6' },
        ...{ s3Endpoint: 'http://127.0.0.1:9', s3Bucket: 'blobs', s3AccessKeyId: 'key' },
      });
    });

    test('says what is wrong with an answer and asks again; leaves out what a flag gives', async () => {
      const { code, left, err, file } = await asked(
        [
          ['Address of the node', `somewhere${ENTER}`],
          ['It must be an http:// or https:// address', `${'\x7f'.repeat(9)}${node.url}${ENTER}`],
          ['User name for the node', `${node.username}${ENTER}`],
          ['Password for the node', `${PASSWORD}${ENTER}`],
          ['Data folder', ENTER],
          ['Where are blobs kept', ENTER],
          ['Finality', ENTER],
        ],
        ['--http-port', '9999'],
      );
      expect({ code, left, err }).toEqual({ code: 0, left: [], err: '' });
      expect(valuesOf(file)).toMatchObject({
        nodeUrl: node.url,
        httpPort: 9_999,
        finality: 'chainlock',
        s3Bucket: null,
      });
    });

    test('leaves with 130 on Ctrl-C, and writes no file', async () => {
      const {
        code,
        err,
        text: written,
      } = await asked([
        ['Address of the node', `${node.url}${ENTER}`],
        ['User name for the node', '\x03'],
      ]);
      expect({ code, err, written }).toEqual({
        code: 130,
        err: 'holdfast: interrupted; no file was written. holdfast init begins again.\n',
        written: null,
      });
    });
  });

  test('does not write over a file, unless it is told to', async () => {
    const output = fileOf('dataDir: /mine\n');
    expect(await cli(words(output), env())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is there already'),
    });
    expect(readFileSync(output, 'utf8')).toBe('dataDir: /mine\n');
    expect((await cli(words(output, '--force'), env())).code).toBe(0);
    expect(valuesOf(output).nodeUrl).toBe(node.url);
  });

  test.each([
    ['without a node', null, 'The address of the node is missing'],
    ['with a configuration file', '{}', 'is given already'],
  ])('%s is exit code 2', async (_what, given, says) => {
    const line = ['init', ...(given === null ? [] : ['--config', fileOf(given)])];
    expect(await cli(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
  });
});
