import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createDevnode } from '../../src/devnode/index.ts';
import { type AtEnd, atEndOfTest, beforeAllSharing } from '../cleanup.ts';
import { describeInBrowser, launchChromium } from '../page/chromium.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  bundleFor,
  bytesUnder,
  exampleIn,
  IN_BROWSER,
  installedUnder,
  LIMITS,
  SMALL_PACKAGES,
  type SmallPackage,
} from './small-packages.ts';

/** The package as another program gets it: packed, installed into an empty project from the registry, compiled and run there. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SLOW_MS = 900_000;
/** A starved machine takes longer than the 30 s of the default. */
const PAGE_MS = 240_000;
const run = promisify(execFile);
/** A program that is compiled for Node has its types; the package brings none. */
const NODE_TYPES = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];

let folder: string;
let tarball: string;
let contents: readonly string[];
/** Address of a daemon that the package installed. */
let archive: string;

const npm = (words: readonly string[], cwd: string) =>
  run('npm', [...words, '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'], { cwd });
const node = (words: readonly string[], cwd: string) => run(process.execPath, words, { cwd });

/** Each file sees the packages that its own folder has. */
function compile(files: readonly string[]) {
  const words = [...files, '--strict', '--module', 'nodenext', '--target', 'es2024', '--lib', 'esnext', ...NODE_TYPES];
  return node([join(ROOT, 'node_modules/typescript/bin/tsc'), ...words], folder);
}

const PROGRAM = `
import { createArchiveReader, createClient, type NodeClient, submitBlob } from 'holdfast/client';
import { createDevnode } from 'holdfast/devnode';
import { nobleHasher, verifyBlob } from 'holdfast/verify';

const node = await createDevnode({ port: 0 });
const client: NodeClient = createClient({
  url: node.url,
  credentials: { user: node.username, password: node.password },
});
const bytes = new Uint8Array([1, 2, 3]);
const { stage, versionHash } = await submitBlob(client, bytes);
console.log(stage, verifyBlob({ versionHash, hashType: null, bytes }, nobleHasher) !== null);
const url = node.url.replace('//', \`//\${node.username}:\${node.password}@\`);
const reader = createArchiveReader({ sources: [{ kind: 'node', url }] });
console.log((await reader.read(versionHash))?.bytes.join());
await client.close();
await node.close();
`;

const LOADED = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ resolve(name, context, next) { const found = next(name, context); loaded.push(found.url); return found; } });
await import(process.argv[2]);
console.log(JSON.stringify(loaded));
`;

/** Starts the daemon that the package installs, over an emulated chain, and gives its address. */
async function startPackaged(atEnd: AtEnd): Promise<string> {
  const main = join(folder, 'node_modules/holdfast/dist/cli/main.js');
  const env = {
    ...process.env,
    HOLDFAST_HTTP_PORT: '0',
    HOLDFAST_DATA_DIR: join(folder, 'data'),
    HOLDFAST_LOG_LEVEL: 'info',
  };
  const daemon = spawn(process.execPath, [main, 'run', '--dev'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  atEnd(async () => {
    if (daemon.exitCode !== null) return;
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
  });
  return await new Promise<string>((resolve, reject) => {
    let said = '';
    const look = (chunk: Buffer) => {
      said += chunk.toString();
      const found = /listens at (http:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    };
    daemon.stdout.on('data', look);
    daemon.stderr.on('data', look);
    daemon.once('exit', () => reject(new Error(said)));
  });
}

/** Runs in the browser, on a page of the archive. Text: an import in a function would be rewritten for the tests. */
const inPage = (bytes: string, record: string, reader: string) => `(async () => {
  const { nobleHasher, parseVersionHash, verifyBlob } = await import('${bytes}');
  const { decodeOccurrenceRecord, verifyBlobOccurrence } = await import('${record}');
  const { createArchiveReader } = await import('${reader}');
  const versionHash = parseVersionHash('1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8');
  const check = (text) => verifyBlob({ versionHash, hashType: null, bytes: new TextEncoder().encode(text) }, nobleHasher);
  const reader = createArchiveReader({ sources: [{ kind: 'holdfast', url: location.origin }] });
  let read = false;
  let proven = null;
  for await (const { versionHash: name } of reader.list()) {
    const given = await reader.read(name);
    read = given !== null;
    const proof = await fetch('/v1/blobs/' + name + '/proof');
    if (!proof.ok || given === null) continue;
    const blob = verifyBlob({ versionHash: name, hashType: null, bytes: given.bytes }, nobleHasher);
    const { records } = await proof.json();
    proven = verifyBlobOccurrence(blob, decodeOccurrenceRecord(records[0]));
    break;
  }
  return { right: check('hello')?.hashType, wrong: check('hullo'), read, proven };
})()`;

beforeAllSharing(async (atEnd) => {
  folder = temporaryFolder(atEnd);
  const { stdout } = await npm(['pack', '--json', '--pack-destination', folder], ROOT);
  const json = stdout.slice(stdout.search(/^[[{]/m));
  const one = z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) });
  const packed = z.union([z.array(one), z.record(z.string(), one)]);
  const [first] = Object.values(packed.parse(JSON.parse(json)));
  contents = (first?.files ?? []).map(({ path }) => path);
  tarball = join(folder, first?.filename ?? '');
  await writeFile(join(folder, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
  await npm(['install', tarball], folder);
  archive = await startPackaged(atEnd);
}, SLOW_MS);

describe('the packed package', () => {
  test('holds what runs, the pages that its README links to, and nothing else', () => {
    const wanted =
      /^(CHANGELOG\.md|\.prose\/README\.md|config\/[\w-]+\.(md|yaml)|helm\/README\.md|src\/.+\.md|src\/verify\/inventory\.ts|test\/simulate\/README\.md|dist\/.+\.(js|mjs|d\.ts|d\.mts)|dist\/page\/[^/]+|migrations\/\d+_.+\.sql|package\.json|README\.md|LICENSE)$/;
    expect(contents.filter((path) => !wanted.test(path))).toEqual([]);
    expect(contents).toEqual(expect.arrayContaining(['dist/cli/main.js', 'dist/cli/health.js', 'dist/client.d.ts']));
    expect(contents.filter((path) => path.startsWith('migrations/'))).toEqual(['migrations/0001_catalog.sql']);
  });

  test('holds every file that its README links to', async () => {
    const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    const linked = [...readme.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to = '']) => to);
    expect(linked.length).toBeGreaterThan(10);
    expect(linked.filter((path) => !contents.includes(path))).toEqual([]);
  });

  test('compiles under strict, with its declarations checked and the code of its documentation, and runs in an empty TypeScript project', async () => {
    const rooms = [['node', 5] as const, ['reader', 1] as const, ['verify', 1] as const];
    for (const [room, least] of rooms) {
      const text = await readFile(join(ROOT, 'src', room, 'README.md'), 'utf8');
      const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
      expect(blocks.length).toBeGreaterThanOrEqual(least);
      await writeFile(join(folder, `shown-${room}.ts`), blocks.join('\n'));
    }
    await writeFile(join(folder, 'program.ts'), PROGRAM);
    await compile(['program.ts', ...rooms.map(([room]) => `shown-${room}.ts`)]);
    const { stdout } = await node(['program.js'], folder);
    expect(stdout).toBe('listed true\n1,2,3\n');
  });

  test.each([
    ['holdfast/client', /\/(better-sqlite3|@aws-sdk|pino|fastify|kubo-rpc-client)\//],
    ['holdfast/verify', /^node:|\/(better-sqlite3|@aws-sdk|pino|fastify|undici|zod)\//],
  ])('%s loads nothing that it does not need', async (entry, unwanted) => {
    await writeFile(join(folder, 'loaded.mjs'), LOADED);
    const { stdout } = await node(['loaded.mjs', entry], folder);
    const loaded = z.array(z.string()).parse(JSON.parse(stdout));
    expect(loaded.length).toBeGreaterThan(3);
    expect(loaded.filter((url) => unwanted.test(url))).toEqual([]);
  });

  test('the command that it installs says its version', async () => {
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
    const { stdout } = await node([join(folder, 'node_modules/holdfast/dist/cli/main.js'), '--version'], folder);
    expect(stdout.trim()).toBe(version);
  });

  test('on a Node that is too old it says so, and loads nothing that would fail there', async () => {
    const main = join(folder, 'node_modules/holdfast/dist/cli/main.js');
    const old = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.18.1" } });';
    const refused = await node(['--import', `data:text/javascript,${old}`, main, 'run'], folder).catch(
      (error) => error,
    );
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^holdfast: This is Node 20\.18\.1, and holdfast needs 24 or newer\.\n {2}Install it/,
    );
    const { engines } = z
      .object({ engines: z.object({ node: z.string() }) })
      .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
    expect(engines.node).toBe('>=24');
    // A static import is loaded before anything can be said.
    const source = await readFile(main, 'utf8');
    expect([...source.matchAll(/^import .*from '([^']+)'/gm)].map(([, from]) => from)).toEqual(['./cli-context.js']);
  });

  test('the page comes built, and the daemon of the package serves it', async () => {
    const answer = await fetch(archive);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/"page\/main-\w+\.js"/)]);
  });

  test('publint and are-the-types-wrong find nothing', async () => {
    await node([join(ROOT, 'node_modules/publint/src/cli.js'), 'run', tarball, '--strict'], ROOT);
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    await node([attw, tarball, '--profile', 'esm-only'], ROOT);
  });
});

describe('the packages for programs that run no archive', () => {
  const projects = new Map<SmallPackage, string>();
  const projectOf = (name: SmallPackage) => projects.get(name) ?? '';

  // Programs that start once for all of the packages: what they do for one costs less than their start.
  beforeAllSharing(async (atEnd) => {
    const built = SMALL_PACKAGES.map((name) => join(ROOT, 'dist/packages', name));
    await npm(['pack', '--pack-destination', folder, ...built], folder);
    const devnode = await createDevnode({ port: 0, username: 'devnode', password: 'devnode', blocksEveryMs: null });
    atEnd(() => devnode.close());
    const addresses = { 'http://127.0.0.1:18370': devnode.url, 'http://127.0.0.1:8080': archive };
    for (const name of SMALL_PACKAGES) {
      const project = join(folder, `with-${name}`);
      await mkdir(project);
      await writeFile(join(project, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
      await npm(['install', await packedOf(name)], project);
      const readme = join(project, 'node_modules/@holdfast', name, 'README.md');
      await writeFile(join(project, 'example.ts'), exampleIn(readme, addresses));
      projects.set(name, project);
    }
    await compile([...projects.values()].map((project) => join(project, 'example.ts')));
  }, SLOW_MS);

  const manifestOf = async (name: SmallPackage) =>
    z
      .looseObject({ name: z.string(), version: z.string() })
      .parse(JSON.parse(await readFile(join(ROOT, 'dist/packages', name, 'package.json'), 'utf8')));
  const packedOf = async (name: SmallPackage) =>
    join(folder, `holdfast-${name}-${(await manifestOf(name)).version}.tgz`);

  test.each(SMALL_PACKAGES)('@holdfast/%s brings few packages and few bytes', (name) => {
    const modules = join(projectOf(name), 'node_modules');
    const others = installedUnder(modules).filter((one) => one !== `@holdfast/${name}`);
    expect(others.length).toBeLessThanOrEqual(LIMITS[name].dependencies);
    expect(bytesUnder(modules)).toBeLessThanOrEqual(LIMITS[name].bytes);
  });

  test.each(SMALL_PACKAGES)('the example of @holdfast/%s, which compiled under strict, runs', async (name) => {
    const { stdout } = await node(['example.js'], projectOf(name));
    expect(stdout).toMatch(/^(keccak256, 5 bytes|listed [0-9a-f]{64} 5|\d+ verified bytes)\n$/);
  });

  test('@holdfast/client says on an older Node which one it needs, and loads nothing before that', async () => {
    const older = 'Object.defineProperty(process.versions,"node",{value:"20.20.2"})';
    const words = [
      '--import',
      `data:text/javascript,${older}`,
      '--input-type=module',
      '-e',
      "import '@holdfast/client'",
    ];
    const refused = await run(process.execPath, words, { cwd: projectOf('client') }).catch((error) => error);
    expect(refused.stderr).toContain('This is Node 20.20.2, and holdfast needs Node 24 or newer.');
  });

  test.each(SMALL_PACKAGES)('publint and are-the-types-wrong find nothing in @holdfast/%s', async (name) => {
    const packed = await packedOf(name);
    await node([join(ROOT, 'node_modules/publint/src/cli.js'), 'run', packed, '--strict'], ROOT);
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    await node([attw, packed, '--profile', 'esm-only'], ROOT);
  });

  test.each(IN_BROWSER)('a browser loads for %s no more than it promises', async (_what, exports, maxBytes) => {
    const project = projectOf(exports.includes('reader') ? 'reader' : 'verify');
    expect((await bundleFor(exports, project)).gzipBytes).toBeLessThanOrEqual(maxBytes);
  });

  describeInBrowser('in Chromium', () => {
    test('bytes are verified, an archive is read, and a record of it is verified against the bytes', async () => {
      const browser = await launchChromium(atEndOfTest);
      const page = await browser.newPage({ bypassCSP: true });
      await page.goto(archive, { timeout: PAGE_MS });
      const address = async (loaded: (typeof IN_BROWSER)[number][0], name: SmallPackage) => {
        const [, exports = ''] = IN_BROWSER.find(([what]) => what === loaded) ?? [];
        const { code } = await bundleFor(exports, projectOf(name));
        return `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
      };
      const bytes = await address('bytes', 'verify');
      const record = await address('occurrence records', 'verify');
      const reader = await address('the reader', 'reader');
      // The chain of `--dev` goes on by itself: a blob is final after a while, and then has a proof.
      await expect
        .poll(() => page.evaluate(inPage(bytes, record, reader)), { timeout: SLOW_MS, interval: 500 })
        .toEqual({
          right: 'keccak256',
          wrong: null,
          read: true,
          proven: expect.objectContaining({ ok: true, says: expect.stringMatching(/^Included in header /) }),
        });
    });
  });
});
