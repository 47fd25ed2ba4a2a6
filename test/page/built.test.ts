import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { startArchive, startNode } from '../e2e/archive-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const WITHOUT_ESBUILD = `
import { registerHooks } from 'node:module';
registerHooks({
  resolve(name, context, next) {
    if (name === 'esbuild') throw new Error('esbuild is not installed');
    return next(name, context);
  },
});
`;

test('a daemon from source serves the page on the first request', async () => {
  const node = await startNode();
  const { client } = await startArchive({ dataDir: temporaryFolder(), node });
  const index = await client.get('/');
  expect([index.status, index.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const files = [...index.body.toString().matchAll(/"(page\/[^"]+)"/g)].map(([, file]) => file);
  expect(files.length).toBe(2);
  for (const file of files) expect((await client.get(`/${file}`)).status, file).toBe(200);
});

test('a daemon whose page cannot be built starts, archives, and logs the reason', async () => {
  const hooks = join(temporaryFolder(), 'without-esbuild.mjs');
  writeFileSync(hooks, WITHOUT_ESBUILD);
  const node = await startNode();
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(hooks).href}` };
  const daemon = await startArchive({ dataDir: temporaryFolder(), node, env });
  const { status, body } = await daemon.client.get('/');
  expect(status).toBe(503);
  expect(body.toString()).toContain('its page could not be built');
  await daemon.says(/esbuild is not installed/);
  expect((await daemon.client.status()).node).toBeDefined();
});
