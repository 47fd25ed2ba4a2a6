import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const IMPORTED = /^(?:import|export)\s(?!type\b)[^;]*?from '([^']+)'|^import '([^']+)'/gm;

/** Packages that a source file loads, itself or through other files of ours. */
function packagesOf(file: URL, seen = new Set<string>()): Set<string> {
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

test('holdfast/client loads what it needs for calls, and nothing else', () => {
  const packages = packagesOf(new URL('../../src/client.ts', import.meta.url));
  expect([...packages].filter((name) => !name.startsWith('node:')).toSorted()).toEqual([
    '@noble/hashes/blake2.js',
    '@noble/hashes/sha3.js',
    'multiformats/cid',
    'multiformats/hashes/digest',
    'undici',
    'zod',
  ]);
});

test('hex and verification run in a browser: nothing of Node in them', () => {
  for (const file of ['blob/hex.ts', 'verify/verified-blob.ts']) {
    const packages = packagesOf(new URL(`../../src/${file}`, import.meta.url));
    expect([...packages].filter((name) => name.startsWith('node:'))).toEqual([]);
  }
});
