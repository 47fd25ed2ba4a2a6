import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { TestProject } from 'vitest/node';

/**
 * The programs that tests start as processes, each in a few files instead of a thousand: a process then starts in two thirds
 * of the processor time. The package, the launcher and the lightness of a start are tested as they are shipped.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Each checkout has programs of its own, also where several share their packages by a link: programs name their sources. */
const CHECKOUT = createHash('sha256').update(ROOT).digest('hex').slice(0, 16);
const FOLDER = join(ROOT, 'node_modules/.cache/holdfast-test-programs', CHECKOUT);
const PROGRAMS = ['test/e2e/backends/killed-daemon.ts', 'src/cli/main.ts'] as const;
type Program = (typeof PROGRAMS)[number];

/** Path of the program to start. */
export function bundledProgram(program: Program): string {
  return join(FOLDER, `${basename(program, '.ts')}.mjs`);
}

/** A module finds its migrations, its worker and its page beside its source. */
const atItsSource: Plugin = {
  name: 'at its source',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url), loader: 'ts' };
    });
  },
};

async function bundle(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...PROGRAMS],
    entryNames: '[name]',
    outdir: FOLDER,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    platform: 'node',
    // Modules that are loaded when they are needed have names only as modules of the language.
    mainFields: ['module', 'main'],
    // Programs and binaries that each finds beside itself.
    external: ['better-sqlite3', 'esbuild', 'pino-pretty', 'thread-stream'],
    // The manifest names the files of the package that have effects, and these are the sources of those.
    ignoreAnnotations: true,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    plugins: [atItsSource],
  });
  mkdirSync(FOLDER, { recursive: true });
  // Chunks are named by their content: a process of another run finds what its own program names. The programs come behind
  // their chunks, and the one that tells other runs that all is there comes last.
  const rank = ({ path }: { readonly path: string }) => PROGRAMS.findLastIndex((one) => bundledProgram(one) === path);
  for (const { path, contents } of outputFiles.toSorted((one, other) => rank(one) - rank(other))) {
    const written = join(dirname(path), `.${basename(path)}.${process.pid}`);
    writeFileSync(written, contents);
    renameSync(written, path);
  }
}

/** Vitest calls it before the first file. */
export async function setup(project: TestProject): Promise<void> {
  if (process.env['HOLDFAST_TEST_QUICK'] === '1') return;
  // Each project of the run calls it: the first one has built them.
  const builtMs = statSync(bundledProgram('src/cli/main.ts'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (builtMs < performance.timeOrigin) await bundle();
  project.onTestsRerun(bundle);
}
