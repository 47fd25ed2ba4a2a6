import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

export const SMALL_PACKAGES = ['client', 'verify', 'reader'] as const;
export type SmallPackage = (typeof SMALL_PACKAGES)[number];

/** The limits of what is installed with each: packages besides it, and bytes in all. */
export const LIMITS: Readonly<Record<SmallPackage, { readonly dependencies: number; readonly bytes: number }>> = {
  client: { dependencies: 5, bytes: 3_000_000 },
  verify: { dependencies: 1, bytes: 1_000_000 },
  reader: { dependencies: 0, bytes: 500_000 },
};

/** The names that a browser uses of each, and how much of it comes over the wire (gzip). */
export const IN_BROWSER = [
  ['bytes', "export * from '@holdfast/verify/bytes'", 10_000],
  ['occurrence records', "export * from '@holdfast/verify/record'", 10_000],
  ['work and runs of headers', "export * from '@holdfast/verify/work'", 10_000],
  ['attestations', "export * from '@holdfast/verify/attestation'", 10_000],
  ['receipts', "export * from '@holdfast/verify/receipt'", 10_000],
  ['every check together', "export * from '@holdfast/verify'", 22_000],
  ['the reader', "export * from '@holdfast/reader'", 60_000],
] as const;

/** Packages under a `node_modules`, by their folders. */
export function installedUnder(modules: string): string[] {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((one) => `${name}/${one}`) : [name],
    );
}

export function bytesUnder(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** The code that a browser would load for these exports, minified. */
export async function bundleFor(exports: string, folder: string): Promise<{ code: string; gzipBytes: number }> {
  const { outputFiles } = await build({
    stdin: { contents: exports, resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    legalComments: 'none',
    write: false,
  });
  const code = outputFiles.map(({ text }) => text).join('');
  return { code, gzipBytes: gzipSync(code).length };
}

/** The example of a package's own README, with the addresses that are meant here. */
export function exampleIn(readme: string, addresses: Readonly<Record<string, string>>): string {
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(readme, 'utf8')) ?? [];
  return Object.entries(addresses).reduce((text, [shown, meant]) => text.replaceAll(shown, meant), code);
}
