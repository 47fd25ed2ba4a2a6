import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VERBS } from '../../src/cli/verb-list.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { cli } from './cli-in-process.ts';

const SECRET = 'Xk7-never-to-be-seen-9Qz';
const HASH = 'ab'.repeat(32);

describe('every command', () => {
  test.each(['run', 'get', 'status', 'submit', 'devnode', 'config', 'verify', 'rpc', 'backfill'])(
    '%s --help says what it does, takes --json, and no password that others could see',
    async (verb) => {
      const { code, stdout, stderr } = await cli([verb, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: holdfast ${verb} `));
      expect(stdout).toContain('--json');
      expect(stdout).not.toContain('--node-password');
      // The help lists its own options without some fifty settings, except for the command about settings.
      expect(stdout.includes('--scrub-days')).toBe(verb === 'config');
      expect(stdout.includes('holdfast config --help')).toBe(verb !== 'config');
    },
  );

  test.each(VERBS.map(({ name, says }) => [name, says] as const))(
    'help %s is its --help, and begins with what the list says of it',
    async (name, says) => {
      const { code, stdout } = await cli(['help', name]);
      expect(code).toBe(0);
      expect(stdout).toBe((await cli([name, '--help'])).stdout);
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(says);
    },
  );

  test('the help names every command', async () => {
    const { code, stdout } = await cli(['--help']);
    expect(code).toBe(0);
    for (const verb of ['run', 'get', 'status', 'submit', 'devnode', 'config']) {
      expect(stdout).toMatch(new RegExp(`^ {2}${verb} `, 'm'));
    }
  });

  test.each([[['check']], [['check', '--chain']]])(
    '%j of a folder that is not there says so, and makes none',
    async (words) => {
      const folder = join(temporaryFolder(), 'data');
      const { code, stdout, stderr } = await cli([...words, '--data-dir', folder]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`There is no data folder ${folder}`);
      expect(existsSync(folder)).toBe(false);
    },
  );

  test.each([
    [['--from', '3'], '--from would say nothing without --chain'],
    [['--from', '3', '--to', '9', '--repair'], '--from, --to would say nothing without --chain'],
    [['--chain', '--repair'], 'With --chain, --repair would say nothing'],
    [['--chain', '--read-data', '--subset', '1/3', '--backend', 's3'], '--read-data, --subset, --backend would say'],
  ])('check %j is refused: an option is never ignored', async (words, says) => {
    const folder = temporaryFolder();
    const { code, stdout, stderr } = await cli(['check', ...words, '--data-dir', folder]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
  });

  test('--version is that of the package', async () => {
    const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(manifest).toMatchObject({ version: (await cli(['--version'])).stdout.trim() });
  });

  test.each([
    [['archive']],
    [['status', '--loud']],
    [['status', 'extra']],
    [['get']],
    [['submit']],
    [['status', '--log-level']],
  ])('an unknown word is exit code 2, in a sentence: %j', async (words) => {
    const { code, stdout, stderr } = await cli(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: /);
  });

  test.each([
    [['run', '--http-port', 'x'], /--http-port must be a whole number from 0 to 65535/],
    [['status', '--log-level', 'loud'], /--log-level must be one of/],
    [['run', '--config', 'nowhere.yaml'], /nowhere\.yaml cannot be read/],
    [['get', 'abc'], /A version hash must be 64 hex characters, not "abc"/],
    [['get', HASH, '--json'], /--json needs a file/],
    [['devnode', '--port', '70000'], /--port must be a whole number from 0 to 65535/],
    [['devnode', '--blocks-every', 'often'], /--blocks-every must be like 2s, 500ms or 1m/],
    [['devnode', '--dialect', 'latin'], /--dialect must be one of/],
    [['submit', 'file', '--wait', 'long'], /--wait must be one of/],
    [['submit', 'file', '--hash-type', 'md5'], /--hash-type must be keccak256 or blake2s256/],
    [['submit', 'file', '--receipt', '1', '--archive', 'one.example'], /--archive takes the base address/],
    [['submit', 'file', '--receipt', '1', '--archive', 'https://a.example/?b'], /--archive takes the base address/],
    [['run'], /No node address is configured/],
  ])('a value that cannot be is exit code 2, in a sentence, with what to do: %j', async (words, says) => {
    const { code, stdout, stderr } = await cli(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr.trimEnd().split('\n').length).toBeGreaterThan(1);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('messages about a password', () => {
  test.each([
    [['run'], { HOLDFAST_NODE_URL: `http://me:${SECRET}@host:port` }],
    [['run'], { HOLDFAST_NODE_URL: `me:${SECRET}@host` }],
    [['run', '--node-url', `ftp://me:${SECRET}@host`], {}],
    [['config'], { HOLDFAST_NODE_PASWORD: SECRET }],
    [['run', `--node-password=${SECRET}`], {}],
    [['run', `--node-password=it's ${SECRET}`], {}],
    [['run', '--node-password', SECRET], {}],
    [['status', `http://me:${SECRET}@host`], {}],
    [['status', '--url', `http://me:${SECRET}@127.0.0.1:9`], {}],
    [['get', HASH, '--url', `http://me:${SECRET}@127.0.0.1:9`], {}],
  ])('nothing, when the command is refused: %j', async (words, env) => {
    const { code, stdout, stderr } = await cli(words, env);
    expect(code).toBeGreaterThan(0);
    expect(stdout + stderr).not.toContain(SECRET);
  });
});

describe('config', () => {
  const env = { HOLDFAST_NODE_URL: `http://me:${SECRET}@host:1`, HOLDFAST_NODE_PASSWORD: SECRET };

  test('shows every setting, where it comes from, and no secret', async () => {
    const { code, stdout } = await cli(['config', '--http-port', '0'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^HOLDFAST_NODE_PASSWORD +\| environment +\| \*\*\*$/m);
    expect(stdout).toMatch(/^HOLDFAST_NODE_URL +\| environment +\| http:\/\/\*\*\*@host:1$/m);
    expect(stdout).toMatch(/^HOLDFAST_HTTP_PORT +\| flag +\| 0$/m);
    expect(stdout).toMatch(/^HOLDFAST_HTTP_HOST +\| default +\| 127\.0\.0\.1$/m);
    expect(stdout).not.toContain(SECRET);
  });

  test('--json is the same for programs', async () => {
    const file = join(temporaryFolder(), 'holdfast.yaml');
    writeFileSync(file, 'http:\n  host: 0.0.0.0\n');
    const { code, stdout } = await cli(['config', '--json', '--config', file], env);
    expect(code).toBe(0);
    const shown: unknown = JSON.parse(stdout);
    expect(shown).toMatchObject({ file });
    expect(stdout).toContain('"value": "***"');
    expect(stdout).toContain('"origin": "file"');
    expect(stdout).not.toContain(SECRET);
  });
});
