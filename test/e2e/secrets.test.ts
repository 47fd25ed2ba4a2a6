import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli } from '../cli/cli-in-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ArchiveClient } from './archive-client.ts';
import { PASSWORD, startArchive, startNode, stop, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';
import { HoldfastHere } from './holdfast-here.ts';

/** The password as it is, as a URL holds it, and as it goes over the wire. */
const FORMS = [PASSWORD, encodeURIComponent(PASSWORD), Buffer.from(`devnode:${PASSWORD}`).toString('base64')];

function expectSilent(text: string): void {
  for (const form of FORMS) expect(text).not.toContain(form);
}

const withPassword = (url: string, password: string) => url.replace('//', `//devnode:${password}@`);

/** Every way in which a password can be given. */
const WAYS: readonly (readonly [name: string, (url: string, folder: string) => Record<string, string>])[] = [
  ['in the address', (url) => ({ HOLDFAST_NODE_URL: withPassword(url, PASSWORD) })],
  [
    'in an address that a file holds',
    (url, folder) => {
      writeFileSync(join(folder, 'address'), `${withPassword(url, PASSWORD)}\n`);
      return { HOLDFAST_NODE_URL_FILE: join(folder, 'address') };
    },
  ],
  [
    'by a secret file',
    (url, folder) => {
      writeFileSync(join(folder, 'secret'), `${PASSWORD}\n`);
      const secretFile = join(folder, 'secret');
      return {
        HOLDFAST_NODE_URL: url,
        HOLDFAST_NODE_USER: 'devnode',
        HOLDFAST_NODE_PASSWORD_FILE: secretFile,
      };
    },
  ],
  [
    'by the environment, the user in the address',
    (url) => ({ HOLDFAST_NODE_URL: url.replace('//', '//devnode@'), HOLDFAST_NODE_PASSWORD: PASSWORD }),
  ],
  [
    'by a configuration file',
    (url, folder) => {
      const file = join(folder, 'holdfast.yaml');
      writeFileSync(file, `node:\n  url: ${url}\n  user: devnode\n  password: ${PASSWORD}\n`);
      return { HOLDFAST_CONFIG: file };
    },
  ],
  [
    'by a cookie file',
    (url, folder) => {
      writeFileSync(join(folder, '.cookie'), `devnode:${PASSWORD}`);
      return { HOLDFAST_NODE_URL: url, HOLDFAST_NODE_COOKIE_FILE: join(folder, '.cookie') };
    },
  ],
];

test.each(WAYS)(
  'a password that is given %s works, and is repeated by nothing: log, API, files, commands',
  async (_name, give) => {
    const node = await startNode({ seedRecordedBlobs: true });
    const dataDir = temporaryFolder();
    const env = {
      ...give(node.url, temporaryFolder()),
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_HTTP_PORT: '0',
      HOLDFAST_LOG_LEVEL: 'trace',
    };
    const daemon = new HoldfastHere(['run'], { env });
    const [, url = ''] = await daemon.says(/"url":"([^"]+)"/);
    const client = new ArchiveClient(url);
    await untilStored(Object.assign(daemon, { client }), 22);
    for (const path of ['/v1/status', '/readyz', '/metrics', '/v1/window', '/v1/blobs', '/openapi.json', '/nowhere']) {
      expectSilent((await client.get(path)).body.toString());
    }
    const commands = [['config'], ['config', '--json'], ['status'], ['status', '--json']];
    for (const ended of await Promise.all(commands.map((words) => cli(words, env)))) {
      expect(ended.code).toBe(0);
      expectSilent(ended.stdout + ended.stderr);
    }
    // The errors of a node that went away name it as well.
    await node.close();
    await daemon.says(/node\/unreachable/);
    expectSilent((await client.get('/readyz')).body.toString());
    expectSilent(JSON.stringify(await stop(daemon)));
    for (const name of readdirSync(dataDir)) {
      if (name.endsWith('.json')) expectSilent(readFileSync(join(dataDir, name), 'utf8'));
    }
  },
);

test('the password of a Kubo is repeated by nothing: log, API, metrics, commands', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const file = join(temporaryFolder(), 'holdfast.json');
  const kubo = withPassword('http://127.0.0.1:9', PASSWORD);
  const more = withPassword('http://127.0.0.1:10', PASSWORD);
  writeFileSync(file, JSON.stringify({ backends: [{ kind: 'ipfs', id: 'ipfs:more', apiUrl: more }] }));
  const env = { HOLDFAST_CONFIG: file, HOLDFAST_IPFS_API_URL: kubo, HOLDFAST_LOG_LEVEL: 'trace' };
  const daemon = await startArchive({ dataDir: temporaryFolder(), node, env });
  // Both are away, and said so.
  await eventually(async () => {
    const told = JSON.stringify((await daemon.client.status()).conditions);
    expect(told).toContain('ipfs:more');
  });
  for (const path of ['/v1/status', '/readyz', '/metrics', '/v1/window']) {
    expectSilent((await daemon.client.get(path)).body.toString());
  }
  const shown = await cli(['config', '--json'], env);
  expect(shown.stdout).toContain('http://***@127.0.0.1:9');
  expectSilent(shown.stdout);
  expectSilent(JSON.stringify(await stop(daemon)));
});
