import { createHash } from 'node:crypto';
import { existsSync, lstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../src/devnode/index.ts';
import { atEndOfTest, beforeAllSharing } from '../cleanup.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  environmentOf,
  type RunningArchive,
  startArchive,
  startArchiveHere,
  startNode,
  stop,
  untilStored,
} from './archive-process.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';
import { holdfast } from './holdfast-process.ts';

const TOKEN = 'operators-only-4711';

let node: Devnode;
let daemon: RunningArchive;
let env: Record<string, string>;
let dataDir: string;

beforeAllSharing(async (atEnd) => {
  node = await startNode({ seedRecordedBlobs: true }, atEnd);
  dataDir = temporaryFolder(atEnd);
  const tokens = join(temporaryFolder(atEnd), 'tokens');
  writeFileSync(tokens, `sha256:${createHash('sha256').update(TOKEN).digest('hex')} me\n`);
  const setup = {
    dataDir,
    node,
    env: { HOLDFAST_HTTP_ADMIN_TOKENS_FILE: tokens, HOLDFAST_HTTP_READ_TOKENS_FILE: tokens },
  };
  daemon = await startArchiveHere({ ...setup, atEnd });
  env = environmentOf(setup);
  await overSocket(async (ask) => {
    await eventually(async () => expect((await ask('/v1/status')).text).toMatch(/"stored":22/));
  }, atEnd);
});

interface Said {
  readonly status: number;
  readonly text: string;
  readonly type: string;
}
type Ask = (path: string, options?: { method?: 'GET' | 'POST' | 'PUT' | 'DELETE'; body?: string }) => Promise<Said>;

async function overSocket<T>(work: (ask: Ask) => Promise<T>, atEnd = atEndOfTest): Promise<T> {
  const dispatcher = new Agent({ connect: { socketPath: join(dataDir, 'admin.sock') } });
  atEnd(() => dispatcher.destroy());
  return await work(async (path, options = {}) => {
    const { statusCode, body, headers } = await request(`http://localhost${path}`, { dispatcher, ...options });
    return { status: statusCode, text: await body.text(), type: String(headers['content-type']) };
  });
}

async function overPort(path: string, headers: Record<string, string>, init: RequestInit = {}): Promise<Said> {
  const response = await fetch(`${daemon.client.url}${path}`, { ...init, headers });
  return {
    status: response.status,
    text: await response.text(),
    type: String(response.headers.get('content-type')),
  };
}

const codeOf = ({ text }: Said) => z.looseObject({ code: z.string() }).parse(JSON.parse(text)).code;
const eventsOf = ({ text }: Said) =>
  text
    .trim()
    .split('\n')
    .map((line) => z.looseObject({ event: z.string() }).parse(JSON.parse(line)));

describe('commands beside a daemon', () => {
  test('check looks, says what it says alone, and is exit code 0', async () => {
    const { code, stdout, stderr } = await holdfastHere(['check', '--read-data'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('local: reading') });
    expect(stdout).toMatch(/^local +\| blobs +\| +22 \| +22 \| +0 \| +0 \| +0$/m);
    expect(stdout).toContain('Everything is as the catalog says.');
  });

  test('check --chain and rebuild too', async () => {
    const chain = await holdfastHere(['check', '--chain', '--json'], { env });
    expect(JSON.parse(chain.stdout)).toMatchObject({ findings: [], occurrences: { lost: 0 } });
    const nothing = await holdfastHere(['check', '--chain', '--from', '9', '--to', '3'], { env });
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('does not go from height 9 to 3') });
    const rebuilt = await holdfastHere(['rebuild', '--json'], { env });
    expect(rebuilt.code).toBe(0);
    expect(JSON.parse(rebuilt.stdout)).toEqual({
      folder: 22,
      backends: {},
      custom: { local: { adopted: 0, damaged: 0, unread: 0, refused: 0 } },
      faults: {},
    });
  });

  test('a backend that there is not is exit code 2, with those that there are', async () => {
    const { code, stderr } = await holdfastHere(['check', '--backend', 's4'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('no backend is named s4; there is local');
  });

  test('get and status need no token on the machine itself', async () => {
    const said = await holdfastHere(['status'], { env });
    expect(said).toMatchObject({ code: 0, stderr: '' });
    expect(said.stdout).toContain(`at ${daemon.client.url}`);
    const blob = await holdfastHere(['get', '4e41dd47d89096a2eaaff50b2c2f987d441e4d826969046f400488bd02cc3cc7'], {
      env,
    });
    expect(blob).toMatchObject({
      code: 0,
      stderr: '',
      stdout: Buffer.from(sampleBytes('sixteen blake', 16)).toString(),
    });
  });

  test('elsewhere they take one, by a file or by HOLDFAST_TOKEN, and never repeat it', async () => {
    const url = ['--url', daemon.client.url];
    expect(await holdfastHere(['status', ...url], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('This takes a token.'),
    });
    expect((await holdfastHere(['status', ...url], { env: { ...env, HOLDFAST_TOKEN: TOKEN } })).code).toBe(0);
    const file = join(temporaryFolder(), 'token');
    writeFileSync(file, `${TOKEN}\n`);
    expect((await holdfastHere(['status', ...url, '--token-file', file], { env })).code).toBe(0);
    const wrong = await holdfastHere(['status', ...url], { env: { ...env, HOLDFAST_TOKEN: `${TOKEN}x` } });
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).not.toContain(TOKEN);
    expect(daemon.output).not.toContain(TOKEN);
  });
});

describe('/admin', () => {
  test('over the port takes a token of an operator, in whatever way it is asked', async () => {
    const good = { authorization: `Bearer ${TOKEN}` };
    expect((await overPort('/admin/jobs', good)).status).toBe(200);
    for (const headers of [
      {},
      { authorization: `Bearer ${TOKEN}x` },
      { authorization: `Bearer ${TOKEN.slice(1)}` },
      { authorization: 'Bearer ' },
      { authorization: `Basic ${Buffer.from(TOKEN).toString('base64')}` },
      { 'x-forwarded-for': '127.0.0.1', 'x-original-url': '/healthz', 'x-http-method-override': 'GET' },
    ]) {
      expect([(await overPort('/admin/jobs', headers)).status, headers]).toEqual([401, headers]);
      expect((await overPort('/admin/jobs/check', headers, { method: 'POST', body: '{}' })).status).toBe(401);
      expect((await overPort('/admin/jobs/x', headers, { method: 'DELETE' })).status).toBe(401);
    }
    for (const path of ['/admin//jobs', '/Admin/jobs', '/admin/jobs/', '/%61dmin/jobs', '/v1/../admin/jobs']) {
      expect([404, 401]).toContain((await overPort(path, {})).status);
    }
  });

  test.each(['export', 'import'])(
    '%s works on files of the machine, and is begun over the socket alone',
    async (kind) => {
      const refused = await overPort(
        `/admin/jobs/${kind}`,
        { authorization: `Bearer ${TOKEN}` },
        { method: 'POST', body: JSON.stringify({ folder: dataDir, sources: [dataDir] }) },
      );
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('jobs/local-only')]);
      await overSocket(async (ask) => {
        const { status } = await ask(`/admin/jobs/${kind}`, { method: 'POST', body: '{"misspelt":1}' });
        expect(status).toBe(400);
      });
    },
  );

  test('a job is begun, watched, listed, and told about when it has ended', async () => {
    await overSocket(async (ask) => {
      const begun = await ask('/admin/jobs/check', { method: 'POST', body: '{"repair":false}' });
      expect(begun).toMatchObject({ status: 200, type: 'application/x-ndjson' });
      const events = eventsOf(begun);
      expect(events[0]).toMatchObject({ event: 'started', kind: 'check' });
      expect(events.at(-1)).toMatchObject({ event: 'ended', state: 'done', outcome: { exitCode: 0 } });
      const id = String(events[0]?.['job']);
      expect(eventsOf(await ask(`/admin/jobs/${id}/events`))).toEqual(events);
      expect(JSON.parse((await ask(`/admin/jobs/${id}`)).text)).toMatchObject({ id, kind: 'check', state: 'done' });
      const list = JSON.parse((await ask('/admin/jobs')).text);
      expect(list).toMatchObject({ kinds: expect.arrayContaining(['check', 'check-chain', 'rebuild']) });
      expect((await ask(`/admin/jobs/${id}`, { method: 'DELETE' })).status).toBe(200);
    });
  });

  test('a request that does not fit is refused, with the field', async () => {
    await overSocket(async (ask) => {
      const post = (kind: string, body: string) => ask(`/admin/jobs/${kind}`, { method: 'POST', body });
      expect(codeOf(await post('nothing', '{}'))).toBe('jobs/unknown-kind');
      const wrong = await post('check', '{"repair":"yes"}');
      expect([wrong.status, JSON.parse(wrong.text)]).toMatchObject([400, { field: 'repair' }]);
      const unknown = await post('check', '{"repiar":true}');
      expect([unknown.status, JSON.parse(unknown.text)]).toMatchObject([400, { field: 'repiar' }]);
      const nested = await post('check', '{"subset":{"index":3,"of":2}}');
      expect([nested.status, JSON.parse(nested.text)]).toMatchObject([400, { field: 'subset' }]);
      expect(codeOf(await post('check', '{'))).toBe('http/bad-json');
      expect(codeOf(await post('check', '[]'))).toBe('jobs/bad-parameters');
      expect(codeOf(await post('check', `{"x":"${'x'.repeat(70_000)}"}`))).toBe('http/body-too-large');
      expect(codeOf(await ask('/admin/jobs/none'))).toBe('jobs/unknown-job');
      expect(codeOf(await ask('/admin/jobs/none', { method: 'DELETE' }))).toBe('jobs/unknown-job');
      expect(codeOf(await ask('/admin/jobs', { method: 'PUT' }))).toBe('http/method-not-allowed');
      expect(codeOf(await ask('/admin/jobs/x', { method: 'DELETE', body: '{}' }))).toBe('http/body-not-allowed');
    });
  });

  test('without tokens of operators is closed over the port, and open over the socket', async () => {
    const other = { dataDir: temporaryFolder(), node };
    const closed = await startArchiveHere(other);
    await untilStored(closed, 22);
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }]) {
      const answer = await closed.client.get('/admin/jobs', headers);
      expect([answer.status, JSON.parse(answer.body.toString())]).toMatchObject([403, { code: 'http/admin-closed' }]);
    }
    expect((await holdfastHere(['check'], { env: environmentOf(other) })).code).toBe(0);
  });
});

describe('the local socket', () => {
  test('is for its owner alone', () => {
    expect(lstatSync(join(dataDir, 'admin.sock')).isSocket()).toBe(true);
    expect(lstatSync(join(dataDir, 'admin.sock')).mode & 0o777).toBe(0o600);
  });

  test('is no obstacle to commands or to the next daemon when a killed daemon left it', async () => {
    const setup = { dataDir: temporaryFolder(), node };
    const killed = await startArchive(setup);
    await untilStored(killed, 22);
    await stop(killed, 'SIGKILL');
    expect(existsSync(join(setup.dataDir, 'admin.sock'))).toBe(true);
    const alone = await holdfast(['check'], { env: environmentOf(setup) });
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything is as the catalog says.') });
    const next = await startArchive(setup);
    expect((await holdfast(['check'], { env: environmentOf(setup) })).code).toBe(0);
    expect((await stop(next)).code).toBe(143);
    expect(existsSync(join(setup.dataDir, 'admin.sock'))).toBe(false);
  });

  test('is elsewhere where the path of the folder is too long for one', async () => {
    const setup = { dataDir: join(temporaryFolder(), 'x'.repeat(120)), node };
    const archive = await startArchiveHere(setup);
    await untilStored(archive, 22);
    expect(existsSync(join(setup.dataDir, 'admin.sock'))).toBe(false);
    expect((await holdfastHere(['check'], { env: environmentOf(setup) })).code).toBe(0);
    expect((await stop(archive)).stderr).toBe('');
  });
});
