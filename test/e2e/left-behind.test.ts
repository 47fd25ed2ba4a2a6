import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { atEndOfTest } from '../cleanup.ts';
import { freePort } from '../servers/child-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { eventually } from './eventually.ts';
import { HoldfastProcess, holdfast, LAUNCHER } from './holdfast-process.ts';

const development = (dataDir: string, port = 0) => ['run', '--dev', '--data-dir', dataDir, '--http-port', String(port)];

test('kill -9 of the launcher leaves no daemon behind: the folder is free again, and what it held goes on', async () => {
  const dataDir = temporaryFolder();
  const first = new HoldfastProcess(development(dataDir), { program: LAUNCHER });
  await first.says(/archived/);
  first.kill('SIGKILL');
  const folder = await eventually(() => DataFolder.claim(join(dataDir, 'dev')));
  await folder.release();
  const second = new HoldfastProcess(development(dataDir), { program: LAUNCHER });
  await second.says(/listens at/);
});

test('a second process on an emulated chain is refused before it mines on it', async () => {
  const dataDir = temporaryFolder();
  const first = new HoldfastProcess(development(dataDir));
  await first.says(/archived/);
  const second = await holdfast(development(dataDir));
  expect(second).toMatchObject({ code: 2 });
  expect(second.stderr).toContain('in use by process');
  const journal = readFileSync(join(dataDir, 'dev/node/chain.log'), 'utf8');
  expect(journal.match(/"do":"begin"/g)).toHaveLength(1);
  first.kill('SIGTERM');
  await first.ended;
  // Resumed from its journal: a block that two had mined would not replay.
  await new HoldfastProcess(development(dataDir)).says(/listens at/);
});

test('a persisted devnode is refused to a second process', async () => {
  const folder = join(temporaryFolder(), 'chain');
  const words = ['devnode', '--persist', folder, '--port', '0', '--blocks-every', 'never'];
  const first = new HoldfastProcess(words);
  await first.says(/emulated node/);
  expect(await holdfast(words)).toMatchObject({ code: 2, stderr: expect.stringContaining('in use') });
});

test('the address that a killed daemon left behind is not believed: get reads the folder, not the process that answers there now', async () => {
  const dataDir = temporaryFolder();
  // The kernel may give a port that it chose to another process once the daemon is gone.
  const port = await freePort();
  const daemon = new HoldfastProcess(development(dataDir, port));
  const [, hash = ''] = await daemon.says(/archived {2}([0-9a-f]{64})/);
  daemon.kill('SIGKILL');
  await daemon.ended;
  const other = createServer((_request, response) =>
    response.writeHead(404).end('{"code":"blob/absent","detail":"no"}'),
  );
  other.listen(port, '127.0.0.1');
  atEndOfTest(() => {
    other.close();
  });
  await once(other, 'listening');
  const file = join(dataDir, 'blob.bin');
  const got = await holdfast(['get', hash, '--data-dir', dataDir, '-o', file]);
  expect(got).toMatchObject({ code: 0, stdout: expect.stringContaining('verified') });
});
