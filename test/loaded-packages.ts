import { readFileSync } from 'node:fs';

const IMPORTED = /^(?:import|export)\s(?!type\b)[^;]*?from '([^']+)'|^import '([^']+)'/gm;

/** Packages that a source file loads when it is imported, itself or through other files of the project. */
export function packagesOf(file: URL, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file.href)) return packages;
  seen.add(file.href);
  for (const [, from, bare] of readFileSync(file, 'utf8').matchAll(IMPORTED)) {
    const name = from ?? bare ?? '';
    const inner = name.startsWith('.') ? packagesOf(new URL(name, file), seen) : [name];
    for (const one of inner) packages.add(one);
  }
  return packages;
}
