import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { beforeAllSharing } from '../cleanup.ts';
import { cli } from '../cli/cli-in-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { environmentOf, type RunningArchive, startArchiveHere, startNode, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';

let daemon: RunningArchive;

beforeAllSharing(async (atEnd) => {
  const node = await startNode({ seedRecordedBlobs: true }, atEnd);
  daemon = await startArchiveHere({ dataDir: temporaryFolder(atEnd), node, atEnd });
  await untilStored(daemon, 22);
});

const ONE_BYTE = 'cd5edcba1904ce1b09e94c8a2d2a85375599856ca21c793571193054498b51d7';
const MALFORMED = [
  'abc',
  `${ONE_BYTE}0`,
  ONE_BYTE.slice(1),
  `${ONE_BYTE.slice(0, 63)}g`,
  `02${ONE_BYTE}`,
  `0x${ONE_BYTE.slice(2)}`,
  'a'.repeat(1_000),
  '%20',
];

describe('a version hash that is none', () => {
  test.each(MALFORMED)('in a URL is 400 and says what a version hash is: %s', async (hash) => {
    for (const path of [`/v1/blobs/${hash}`, `/v1/blobs/${hash}/record`, `/vh/${hash}`]) {
      const problem = await daemon.client.problem(path);
      expect(problem).toMatchObject({ status: 400, code: 'malformed/version-hash', type: 'application/problem+json' });
      expect(problem.detail).toContain('must be 64 hex characters');
    }
  });

  test.each([...MALFORMED, ''])('on the command line is exit code 2, and says what it is: %j', async (hash) => {
    const { code, stdout, stderr } = await cli(['get', hash, '--url', daemon.client.url]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('holdfast: A version hash must be 64 hex characters, not');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('a question that can be answered', () => {
  test('upper case, 0x, and the 66-character form name the same blob', async () => {
    for (const form of [ONE_BYTE.toUpperCase(), `0x${ONE_BYTE}`, `0X${ONE_BYTE.toUpperCase()}`]) {
      expect((await daemon.client.blob(form)).body).toHaveLength(1);
    }
  });

  test('an unpublished blob is 404 on every route, with a body that is no hex', async () => {
    const hash = 'ab'.repeat(32);
    // Only when list and walk are current may anything be called absent.
    for (const path of [`/v1/blobs/${hash}`, `/v1/blobs/${hash}/record`, `/vh/${hash}`]) {
      await eventually(async () => {
        const { status, body } = await daemon.client.get(path);
        expect(body.toString()).not.toMatch(/^[0-9a-f]*$/);
        expect(status).toBe(404);
      });
    }
  });

  test('/healthz answers whatever the node does', async () => {
    expect((await daemon.client.get('/healthz')).status).toBe(200);
  });

  test('a listing goes through everything, newest or oldest first, and refuses a cursor that it did not give', async () => {
    for (const order of ['oldest', 'newest']) {
      const seen = new Set<string>();
      let after: string | null = null;
      do {
        const page = await daemon.client.page(`order=${order}&limit=7${after === null ? '' : `&after=${after}`}`);
        for (const { versionHash } of page.blobs) seen.add(versionHash);
        after = page.next;
      } while (after !== null);
      expect(seen.size).toBe(22);
    }
    expect(await daemon.client.problem('/v1/blobs?after=bm9uc2Vuc2U')).toMatchObject({ code: 'archive/bad-cursor' });
    expect(await daemon.client.problem('/v1/blobs?limit=0')).toMatchObject({ status: 400 });
  });
});

describe('a port that cannot be had', () => {
  test('in use: exit code 2, with the port and what to do, and the folder is free again', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = String(address === null || typeof address === 'string' ? '' : address.port);
    const setup = { dataDir: temporaryFolder(), node: { url: 'http://127.0.0.1:9' } };
    const refused = await holdfastHere(['run'], {
      env: environmentOf({ ...setup, env: { HOLDFAST_HTTP_PORT: port } }),
    });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`Cannot listen on 127.0.0.1 port ${port}: the port is in use.`);
    expect(refused.stderr).toContain('HOLDFAST_HTTP_PORT');
    await new Promise((resolve) => server.close(resolve));
    await startArchiveHere(setup);
  });

  test('an address that this machine has not got: exit code 2, with what to do', async () => {
    const setup = { dataDir: temporaryFolder(), node: { url: 'http://127.0.0.1:9' } };
    const env = environmentOf({ ...setup, env: { HOLDFAST_HTTP_HOST: '192.0.2.1' } });
    const { code, stderr } = await holdfastHere(['run'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('this machine has no such address');
    expect(stderr).toContain('HOLDFAST_HTTP_HOST');
  });
});
