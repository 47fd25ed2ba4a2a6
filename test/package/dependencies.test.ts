import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

/** The packages that the archive runs with, as the lockfile pins them. */

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const locked = z.looseObject({
  version: z.string(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  dev: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
});
const lockfile = z.object({ packages: z.record(z.string(), locked) }).parse(read('package-lock.json'));
const all = Object.entries(lockfile.packages).filter(([path]) => path !== '');
const shipped = all.filter(([, { dev }]) => !dev);

const PERMISSIVE = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'CC0-1.0',
]);
/** One of several is enough; of what is said with AND, every one. */
function isPermissive(license: string): boolean {
  const plain = license.replaceAll(/[()]/g, '');
  if (plain.includes(' AND ')) return plain.split(' AND ').every(isPermissive);
  return plain.split(' OR ').some((one) => PERMISSIVE.has(one));
}

test('everything is pinned by checksum', () => {
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path)).toEqual([]);
});

test('nothing comes from anywhere but the registry', () => {
  const elsewhere = all.filter(
    ([, { resolved }]) => resolved !== undefined && !/^https:\/\/registry\.npmjs\.org\//.test(resolved),
  );
  expect(elsewhere.map(([path]) => path)).toEqual([]);
});

test('packages that ship may be used by anybody', () => {
  const others = shipped.filter(([, { license }]) => !isPermissive(license ?? ''));
  expect(others.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
});

test('packages that ship run no script when they are installed', () => {
  expect(shipped.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
});

test('every package that the archive runs with is listed with the reason for it, and no other', () => {
  const { dependencies } = z.object({ dependencies: z.record(z.string(), z.string()) }).parse(read('package.json'));
  const page = readFileSync(new URL('../../config/README.md', import.meta.url), 'utf8');
  const chapter = page.split('\n## ').find((one) => one.startsWith('Supply chain')) ?? '';
  const rows = chapter.matchAll(/^\| (`.+?`) \|/gm);
  const listed = [...rows].flatMap(([, names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(listed.toSorted()).toEqual(Object.keys(dependencies).toSorted());
  expect(chapter).toContain(` ${shipped.length} packages, `);
});

test('types are nothing that the archive runs with', () => {
  const types = shipped.map(([path]) => path).filter((path) => path.startsWith('node_modules/@types/'));
  expect(types).toEqual([]);
});

test('versions are asked for by number: npm would choose by the Node of the machine', () => {
  const manifest = z
    .object({ dependencies: z.record(z.string(), z.string()), devDependencies: z.record(z.string(), z.string()) })
    .parse(read('package.json'));
  const asked = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(asked.filter(([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});
