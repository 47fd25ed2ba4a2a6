import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin, transform } from 'esbuild';
import { z } from 'zod';

/**
 * A step of `npm run build`: `@holdfast/client`, `@holdfast/verify` and `@holdfast/reader`, each a folder of
 * `dist/packages` that can be published as it is. What a program would have to install for the sake of a few functions is
 * built in, with its licence; a schema library of 6 MB for instance.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
const TARGET = join(DIST, 'packages');
const manifest = z
  .object({
    version: z.string(),
    license: z.string(),
    engines: z.record(z.string(), z.string()),
    dependencies: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
    peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean() })),
  })
  .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));

interface SmallPackage {
  readonly name: string;
  readonly says: string;
  /** In `src`, and its declarations in `dist`. */
  readonly entry: string;
  readonly needsNode: boolean;
  /** One file with everything in it but the dependencies; else the compiled files, of which a browser gets what it uses. */
  readonly isBundled: boolean;
  /** Entries of their own beside the whole, of a package that is not bundled: `config/packages/<name>/<part>.ts`. */
  readonly parts: readonly string[];
  readonly dependencies: readonly string[];
}

const PACKAGES: readonly SmallPackage[] = [
  {
    name: 'client',
    says: 'The operations of a layer-1 node for data blobs, and a reader of archives.',
    entry: 'client',
    needsNode: true,
    isBundled: true,
    parts: [],
    dependencies: ['undici'],
  },
  {
    name: 'verify',
    says: 'Checks layer-1 data blobs and their proofs offline, in browsers and in Node.',
    entry: 'verify/index',
    needsNode: false,
    isBundled: false,
    parts: ['attestation', 'bytes', 'receipt', 'record', 'work'],
    dependencies: ['@noble/hashes'],
  },
  {
    name: 'reader',
    says: 'Reads layer-1 data blobs from archives, gateways and nodes, and verifies every byte.',
    entry: 'reader/index',
    needsNode: false,
    isBundled: true,
    parts: [],
    dependencies: [],
  },
];

async function make(one: SmallPackage): Promise<void> {
  const folder = join(TARGET, one.name);
  await mkdir(folder, { recursive: true });
  await copyReached(join(DIST, `${one.entry}.d.ts`), join(folder, 'lib'));
  if (one.isBundled) await writeFile(join(folder, 'THIRD-PARTY.txt'), await bundleInto(folder, one));
  else await copyReached(join(DIST, `${one.entry}.js`), join(folder, 'lib'));
  for (const part of one.parts) await makePart(one.name, part, folder);
  await copyFile(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await copyFile(join(ROOT, 'config', 'packages', `${one.name}.md`), join(folder, 'README.md'));
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifestOf(one), null, 2)}\n`);
}

/** Names that the part exports out of the compiled files of the package: a page then loads those files alone. */
async function makePart(name: string, part: string, folder: string): Promise<void> {
  const source = await readFile(join(ROOT, 'config', 'packages', name, `${part}.ts`), 'utf8');
  const text = source.replaceAll(/'(?:\.\.\/)+src\/(.+)\.ts'/g, "'./lib/$1.js'");
  await writeFile(join(folder, `${part}.d.ts`), text);
  await writeFile(join(folder, `${part}.js`), (await transform(text, { loader: 'ts' })).code);
}

/** Gives the licences of what is built in. */
async function bundleInto(folder: string, one: SmallPackage): Promise<string> {
  // An older Node must hear of it before anything else is loaded: a file of its own, imported first.
  const parts = one.needsNode ? { main: one.entry, 'require-node': 'require-node' } : { index: one.entry };
  if (one.needsNode) {
    await writeFile(join(folder, 'index.js'), "import './require-node.js';\nexport * from './main.js';\n");
  }
  return await licencesOf(
    await Promise.all(Object.entries(parts).map(([to, from]) => bundle(from, join(folder, `${to}.js`), one))),
  );
}

function manifestOf({ name, says, entry, needsNode, isBundled, parts, dependencies }: SmallPackage) {
  const { version, license, engines, peerDependencies, peerDependenciesMeta } = manifest;
  const pinned = dependencies.map((dependency) => [dependency, manifest.dependencies[dependency]]);
  return {
    name: `@holdfast/${name}`,
    version,
    description: says,
    license,
    type: 'module',
    ...(needsNode ? { engines, peerDependencies, peerDependenciesMeta } : {}),
    sideEffects: needsNode ? ['./index.js', './require-node.js'] : false,
    exports: {
      '.': { types: `./lib/${entry}.d.ts`, default: isBundled ? './index.js' : `./lib/${entry}.js` },
      ...Object.fromEntries(parts.map((part) => [`./${part}`, { types: `./${part}.d.ts`, default: `./${part}.js` }])),
      './package.json': './package.json',
    },
    files: isBundled ? ['*.js', 'lib', 'THIRD-PARTY.txt'] : ['*.js', '*.d.ts', 'lib'],
    ...(pinned.length === 0 ? {} : { dependencies: Object.fromEntries(pinned) }),
  };
}

async function bundle(entry: string, outfile: string, { needsNode, dependencies }: SmallPackage): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [`src/${entry}.ts`],
    outfile,
    bundle: true,
    // White space alone: names and lines of thought stay readable to a reader of the bundle.
    minifyWhitespace: needsNode,
    // Errors are told by their names as well.
    keepNames: true,
    format: 'esm',
    platform: needsNode ? 'node' : 'browser',
    target: 'es2024',
    legalComments: 'none',
    external: [...dependencies],
    plugins: entry === 'require-node' ? [] : [leftOut],
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}

/** `require-node.ts` is imported before, by a file of its own; the schema library's messages in fifty languages are never asked for. */
const leftOut: Plugin = {
  name: 'left-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/require-node\.ts$|\/locales\/index\.js$/ }, ({ path }) => ({
      path,
      namespace: 'left-out',
      sideEffects: false,
    }));
    onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: '' }));
  },
};

/** The files of one kind, `.js` or `.d.ts`, that the entry reaches, in the folders that they have in `dist`. */
async function copyReached(entry: string, target: string): Promise<void> {
  const kind = entry.endsWith('.d.ts') ? '.d.ts' : '.js';
  const files = [entry];
  for (const file of files) {
    const text = await readFile(file, 'utf8');
    const to = join(target, relative(DIST, file));
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, text);
    for (const [, named = ''] of text.matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g)) {
      const next = resolve(dirname(file), named.replace(/\.(ts|js)$/, kind));
      if (!files.includes(next)) files.push(next);
    }
  }
}

async function licencesOf(metafiles: readonly Metafile[]): Promise<string> {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) => Object.entries(output.inputs)),
  );
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  const names = new Set(used.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  const texts = await Promise.all(
    [...names].sort().map(async (name) => {
      const folder = join(ROOT, 'node_modules', name);
      const { version } = z
        .object({ version: z.string() })
        .parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
      return `${name} ${version}\n\n${(await licenceIn(folder)).trim()}\n`;
    }),
  );
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

async function licenceIn(folder: string): Promise<string> {
  for (const name of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENSE-MIT']) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => null);
    if (text !== null) return text;
  }
  throw new Error(`${folder} has no licence to hand on`);
}

await rm(TARGET, { recursive: true, force: true });
for (const one of PACKAGES) await make(one);
