import { expect, test } from 'vitest';
import { packagesOf } from '../loaded-packages.ts';

test('holdfast/client loads only the modules that calls need', () => {
  const packages = packagesOf(new URL('../../src/client.ts', import.meta.url));
  expect([...packages].filter((name) => !name.startsWith('node:')).toSorted()).toEqual([
    '@noble/hashes/blake2.js',
    '@noble/hashes/sha3.js',
    'multiformats/cid',
    'multiformats/hashes/digest',
    'undici',
    'zod',
    'zod/mini',
  ]);
});

test('hex and verification run in a browser without modules of Node', () => {
  for (const file of ['core/blob/hex.ts', 'verify/verified-blob.ts']) {
    const packages = packagesOf(new URL(`../../src/${file}`, import.meta.url));
    expect([...packages].filter((name) => name.startsWith('node:'))).toEqual([]);
  }
});
