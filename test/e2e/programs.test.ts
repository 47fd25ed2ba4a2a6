import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../docs/markdown.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { PASSWORD, startArchiveHere, startNode, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';

/** The three programs of the client's page, run as a developer would run them. */

const PAGE = join(ROOT, 'src/node/PROGRAMS.md');
const GUID = '18446744073709551615';

/** Runs the program of this name with these words, against the sources instead of the package. */
async function run(name: string, words: readonly string[], env: Readonly<Record<string, string>>) {
  const blocks = [...(await readFile(PAGE, 'utf8')).matchAll(/^```ts\n\/\/ (\w+)\.ts [^\n]*\n(.*?)^```$/gms)];
  const code = blocks.find(([, of]) => of === name)?.[2];
  if (code === undefined) throw new Error(`${PAGE} has no program ${name}`);
  const folder = temporaryFolder();
  const file = join(folder, `${name}.mts`);
  await writeFile(file, code.replace("'holdfast/client'", `'${pathToFileURL(join(ROOT, 'src/client.ts')).href}'`));
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...words], { cwd: folder, env });
  return { stdout, folder };
}

/** The address with the credentials of an emulated node. */
const withPassword = (url: string) => url.replace('//', `//devnode:${PASSWORD}@`);

test('a blob is submitted until it is final, and read back from an archive with its proof', async () => {
  const node = await startNode({ blocksEveryMs: 100, workload: null });
  const archive = await startArchiveHere({ dataDir: temporaryFolder(), node });
  const bytes = sampleBytes('three programs', 4_000);
  const given = join(temporaryFolder(), 'blob.bin');
  await writeFile(given, bytes);

  const submitted = await run('submit', [given], { NODE_URL: withPassword(node.url) });
  const [, versionHash = ''] = /^chain-locked ([0-9a-f]{64})\n$/.exec(submitted.stdout) ?? [];
  expect(versionHash).toHaveLength(64);
  await untilStored(archive, 1);
  // The node has the lock before the archive does, and only what is final has a proof.
  const proof = `/v1/blobs/${versionHash}/proof`;
  await eventually(async () => expect((await archive.client.get(proof)).status).toBe(200));

  const read = await run('read', [versionHash, 'back.bin'], { ARCHIVES: archive.client.url });
  expect(read.stdout).toMatch(/^keccak256 4000 (?:[0-9a-f]{64}|in no block yet)\n$/);
  expect((await readFile(join(read.folder, 'back.bin'))).equals(bytes)).toBe(true);
});

test('an asset is sent, and its balance told before and after', async () => {
  const node = await startNode({ dialect: 'syscoin-4.2', wallets: ['a'] });
  const env = { NODE_URL: withPassword(node.url) };
  const { stdout } = await run('send', [GUID, node.assets.addressOf('b'), '0.01'], env);
  expect(stdout).toMatch(/^\w+ 12345678901\.23 [0-9a-f]{64} 12345678901\.22\n$/);
});
