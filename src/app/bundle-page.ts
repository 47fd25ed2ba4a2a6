import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { OutputFile, Plugin } from 'esbuild';

const ROOM = fileURLToPath(new URL('../page', import.meta.url));
const ENTRIES = ['main.ts', 'style.css'] as const;

/**
 * Makes the files of the page out of its source, in memory. Only a clone has what that takes: esbuild is a development
 * dependency, and what is shipped was built before.
 * @throws where esbuild is not installed, or the source is wrong
 */
export async function bundlePage(): Promise<Map<string, Uint8Array>> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: ROOM,
    entryPoints: [...ENTRIES],
    entryNames: '[name]-[hash]',
    outdir: '/page',
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [withoutSimd],
  });
  const files = new Map(outputFiles.map((file): [string, Uint8Array] => [nameOf(file), file.contents]));
  const index = await readFile(`${ROOM}/index.html`, 'utf8');
  files.set('index.html', Buffer.from(named(index, [...files.keys()])));
  return files;
}

/** The hex of a page is short, and WebAssembly is not allowed to it by its own policy. */
const withoutSimd: Plugin = {
  name: 'without-simd',
  setup(build) {
    build.onLoad({ filter: /[\\/]blob[\\/]hex-simd\.ts$/ }, () => ({
      contents: 'export function loadHexSimd() { return null; }',
      loader: 'ts',
    }));
  },
};

function nameOf({ path }: OutputFile): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/^.*\\/, '');
}

/** `page/main.js` → `page/main-1A2B3C4D.js` */
function named(index: string, files: readonly string[]): string {
  return index.replace(/"page\/(\w+)\.(js|css)"/g, (_, name: string, kind: string) => {
    const file = files.find((one) => one.startsWith(`${name}-`) && one.endsWith(`.${kind}`));
    if (file === undefined) throw new Error(`index.html names ${name}.${kind}, which was not built`);
    return `"page/${file}"`;
  });
}
