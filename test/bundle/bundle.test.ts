import { appendFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { CarReader } from '@ipld/car';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { checkBundle } from '../../src/bundle/check-bundle.ts';
import { exportBundle } from '../../src/bundle/export-bundle.ts';
import type { ExportEvent } from '../../src/bundle/export-report.ts';
import { blobCid } from '../../src/core/blob/cid.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { holdfastHere } from '../e2e/holdfast-here.ts';
import type { Scene } from '../scenario/archive-on-devnode.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { archived, recordsIn, reported, settled } from './archived-scene.ts';

const NEVER = new AbortController().signal;

async function exported(scene: Scene, ...words: string[]): Promise<string> {
  const file = join(temporaryFolder(), 'blobs.car');
  const { code, stderr } = await reported(scene.dataDir, 'export', '--output', file, ...words);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return file;
}

const verified = z.looseObject({
  verified: z.boolean(),
  wrongCount: z.number(),
  manifest: z.unknown(),
  wrong: z.array(z.object({ why: z.string() })),
});

async function verify(file: string) {
  const { code, stdout } = await holdfastHere(['verify', '--bundle', file, '--json']);
  return { code, ...verified.parse(JSON.parse(stdout)) };
}

async function* once(bytes: Uint8Array) {
  yield bytes.slice();
}

/** Offset of a blob's bytes in a bundle. */
function placeOf(bundle: Uint8Array, blob: Uint8Array): number {
  const at = Buffer.from(bundle).indexOf(blob);
  expect(at).toBeGreaterThan(0);
  return at;
}

describe('a bundle', () => {
  test('holds each blob under its CID, each record before its blob, and the inventory that the archive gives', async () => {
    const scene = await archived(5);
    const file = await exported(scene);
    const reader = await CarReader.fromBytes(readFileSync(file));
    const [root] = await reader.getRoots();
    for (const { versionHash, hashType, bytes } of scene.blobs) {
      const block = await reader.get(blobCid({ hashType, versionHash: parseVersionHash(versionHash) }));
      expect(Buffer.compare(block?.bytes ?? new Uint8Array(), bytes)).toBe(0);
    }
    const checked = await verify(file);
    const lookup = await scene.archive.inventory.inventory(null, null, NEVER);
    expect(checked).toMatchObject({
      code: 0,
      verified: true,
      wrongCount: 0,
      blobs: 5,
      records: 5,
      root: root?.toString(),
    });
    if (lookup.kind !== 'found') throw new Error(lookup.message);
    const { chain, from, to, digest, counts, blockHash } = lookup.inventory;
    expect(checked.manifest).toMatchObject({ chain, from, to, inventory: digest, counts, blockHash });
  });

  test('is the same to the byte: again, alone, and from another archive that came by the blobs in another order', async () => {
    const scene = await archived(6);
    const { tip } = scene.node.chain;
    // The blobs lie in six blocks below the last eight.
    const range = ['--from-height', `${tip.height - 12}`, '--to-height', `${tip.height - 9}`];
    const bytes = readFileSync(await exported(scene, ...range));
    expect(bytes.length).toBeGreaterThan(4 * 64);
    expect(readFileSync(await exported(scene, ...range))).toEqual(bytes);
    const other = await archived(0, { on: scene.node, env: { HOLDFAST_START_HEIGHT: '1' } });
    await settled(other, scene.archive.status().chain.finalHeight ?? 0);
    expect(readFileSync(await exported(other, ...range))).toEqual(bytes);
    await scene.stop();
    expect(readFileSync(await exported(scene, ...range))).toEqual(bytes);
  });

  test('holds a blob once, at its first occurrence in the range, with the records of all', async () => {
    const scene = await archived(1);
    const [blob] = scene.blobs;
    const { height } = scene.node.chain.tip;
    scene.node.advanceSeconds(150);
    if (blob !== undefined) scene.node.submitBlob(blob.bytes, { hashType: blob.hashType });
    scene.mine(9);
    await settled(scene, height + 1);
    await scene.until('both records are written', () => recordsIn(scene.dataDir).length === 2);
    const all = await exported(scene);
    expect(await verify(all)).toMatchObject({ code: 0, blobs: 1, records: 2 });
    const second = await exported(scene, '--from-height', `${height + 1}`);
    expect(await verify(second)).toMatchObject({ code: 0, blobs: 1, records: 1 });
  });

  test('goes on behind its last whole block, whatever became of the rest', async () => {
    const scene = await archived(8);
    const whole = readFileSync(await exported(scene));
    const [third] = scene.blobs.slice(2);
    const at = placeOf(whole, third?.bytes ?? new Uint8Array());
    const begun = (bytes: Uint8Array) => {
      const file = join(temporaryFolder(), 'blobs.car');
      writeFileSync(`${file}.part`, bytes);
      return file;
    };
    const damaged = Uint8Array.from(whole);
    damaged[at + 9] = (damaged[at + 9] ?? 0) ^ 1;
    const zeros = Uint8Array.from(whole).fill(0, at);
    for (const [bytes, keeps] of [
      [whole.subarray(0, at + 9), true],
      [damaged, true],
      [zeros, true],
      [Buffer.concat([whole, Buffer.from('more')]), true],
      [Buffer.from('another file altogether'), false],
    ] as const) {
      const file = begun(bytes);
      const { code, report } = await reported(scene.dataDir, 'export', '--output', file);
      expect(code).toBe(0);
      expect(z.number().parse(report?.['keptBytes']) > 0).toBe(keeps);
      expect(readFileSync(file)).toEqual(whole);
      expect(existsSync(`${file}.part`)).toBe(false);
    }
  });

  test('an interrupted export is kept, and continues there', async () => {
    const scene = await archived(6);
    const whole = readFileSync(await exported(scene));
    const file = join(temporaryFolder(), 'blobs.car');
    const stopping = new AbortController();
    const parameters = { fromHeight: null, toHeight: null, file, folder: null, bucket: null };
    const stopAtFirst = ({ event }: { readonly event: string }) => {
      if (event === 'progress') stopping.abort('SIGINT');
    };
    const { archive } = scene;
    await expect(
      exportBundle(parameters, archive.finalHeight(false), archive.exporting, stopAtFirst, stopping.signal),
    ).rejects.toBe('SIGINT');
    expect(existsSync(file)).toBe(false);
    expect(statSync(`${file}.part`).size).toBeGreaterThan(0);
    const { code, report } = await reported(scene.dataDir, 'export', '--output', file);
    expect(code).toBe(0);
    expect(report?.['keptBytes']).toBeGreaterThan(0);
    expect(readFileSync(file)).toEqual(whole);
  });

  test('a blob that is taken down after it was written is in no finished bundle', async () => {
    const { archive, blobs } = await archived(6);
    const file = join(temporaryFolder(), 'blobs.car');
    const parameters = { fromHeight: null, toHeight: null, file, folder: null, bucket: null };
    const { catalog } = archive.exporting;
    const content = catalog.find(parseVersionHash(blobs[0]?.versionHash ?? ''));
    const order = { archiver: 'me', reason: 'order 7', publicReason: null, atMs: 1, purge: true };
    const written: number[] = [];
    const takeDownTheFirst = (event: ExportEvent) => {
      if (event.event !== 'progress') return;
      written.push(event.blobs);
      if (event.blobs === 1)
        catalog.withheld.record(
          content.map((name) => ({ ...name, ...order })),
          false,
        );
    };
    let steadyMs = 0;
    // Each look at the clock is an hour later: all progress is told.
    const clock = { ...archive.exporting.clock, steadyMs: () => (steadyMs += 3_600_000) };
    const exporting = { ...archive.exporting, clock };
    await expect(
      exportBundle(parameters, archive.finalHeight(false), exporting, takeDownTheFirst, NEVER),
    ).rejects.toMatchObject({ code: 'bundle/changed' });
    expect(written.at(-1)).toBe(6);
    expect(existsSync(file)).toBe(false);
  });

  test('never writes over a file, and never claims what is not final, not walked or not stored', async () => {
    const scene = await archived(2);
    const file = await exported(scene);
    const again = await reported(scene.dataDir, 'export', '--output', file);
    expect(again).toMatchObject({ code: 1, report: null });
    expect(again.stderr).toContain('is there already');
    const beyond = await reported(scene.dataDir, 'export', '--to-height', '100000', '--output', `${file}2`);
    expect(beyond).toMatchObject({ code: 1, report: null });
    expect(beyond.stderr).toContain('The highest final block has height');
    expect(existsSync(`${file}2`)).toBe(false);
  });

  test('beside a stopped archiver it holds nothing above the block where its nodes parted', async () => {
    const scene = await archived(3);
    const final = scene.archive.status().chain.finalHeight ?? 0;
    const common = final - 2;
    await scene.stop();
    const catalog = new Database(join(scene.dataDir, 'catalog.sqlite'));
    const branches = { a: { commonHeight: final, isForked: false }, b: { commonHeight: common, isForked: true } };
    catalog
      .prepare('INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)')
      .run('node-branches', JSON.stringify(branches));
    catalog.close();
    const file = join(temporaryFolder(), 'blobs.car');
    const beyond = await reported(scene.dataDir, 'export', '--to-height', String(final), '--output', file);
    expect(beyond).toMatchObject({ code: 1, report: null });
    expect(beyond.stderr).toContain(`The highest final block has height ${common}.`);
    // Nor has that command forgotten what the nodes said, or does one sign more than an export holds.
    const { report } = await reported(scene.dataDir, 'export', '--output', file);
    expect(report).toMatchObject({ to: common });
    const signed = await holdfastHere(['attest', '--json', '--data-dir', scene.dataDir]);
    expect(JSON.parse(signed.stdout)).toMatchObject({ statement: { to: common } });
  });

  test('withheld content is left out, and is counted', async () => {
    const scene = await archived(3);
    const [blob] = scene.blobs;
    await holdfastHere(['withhold', blob?.versionHash ?? '', '--reason', 'order 7', '--data-dir', scene.dataDir]);
    const file = await exported(scene);
    expect(Buffer.from(readFileSync(file)).indexOf(blob?.bytes ?? '')).toBe(-1);
    expect(await verify(file)).toMatchObject({ code: 0, blobs: 2, manifest: { counts: { stored: 2, withheld: 1 } } });
  });
});

describe('a bundle comes in', () => {
  test('into an archive that knows nothing and asks no node: its records prove its blobs', async () => {
    const scene = await archived(5);
    const file = await exported(scene);
    const dataDir = temporaryFolder();
    const { code, report } = await reported(dataDir, 'import', file);
    expect(report).toMatchObject({
      taken: 5,
      byRecord: 5,
      records: 5,
      notPlacedCount: 0,
      unusableCount: 0,
      notStored: 0,
    });
    expect(code).toBe(0);
    const server = createServer((_, response) => void response.end(readFileSync(file)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = z.object({ port: z.number() }).parse(server.address());
    const fromAddress = await reported(temporaryFolder(), 'import', `http://127.0.0.1:${port}/blobs.car`);
    expect(fromAddress).toMatchObject({ code: 0, report: { taken: 5, byRecord: 5 } });
  });

  test('a damaged block is named and refused, and all the others are taken', async () => {
    const scene = await archived(5);
    const file = await exported(scene);
    const [, second] = scene.blobs;
    const bytes = Uint8Array.from(readFileSync(file));
    const at = placeOf(bytes, second?.bytes ?? new Uint8Array());
    bytes[at + 3] = (bytes[at + 3] ?? 0) ^ 0x80;
    writeFileSync(file, bytes);
    const checked = await verify(file);
    expect(checked).toMatchObject({ code: 3, verified: false, wrongCount: 1, blobs: 4, records: 5 });
    const { code, report } = await reported(temporaryFolder(), 'import', file);
    expect(report).toMatchObject({ taken: 4, unusableCount: 1 });
    const cid = blobCid({
      hashType: second?.hashType ?? 'keccak256',
      versionHash: parseVersionHash(second?.versionHash ?? ''),
    });
    expect(JSON.stringify(report?.['unusable'])).toContain(cid.toString());
    expect(code).toBe(3);
  });

  test('one that was cut off is taken as far as it goes, and told so', async () => {
    const scene = await archived(5);
    const file = await exported(scene);
    const at = placeOf(readFileSync(file), scene.blobs[3]?.bytes ?? new Uint8Array());
    truncateSync(file, at + 5);
    expect(await verify(file)).toMatchObject({ code: 3, verified: false, blobs: 3 });
    const { code, report } = await reported(temporaryFolder(), 'import', file);
    expect({ code, ...report }).toMatchObject({ code: 3, taken: 3, unusableCount: 1 });
  });

  test('no byte of it can be changed, taken out or put in without being told', async () => {
    const scene = await archived(3);
    const whole = new Uint8Array(readFileSync(await exported(scene)));
    const hasher = await createNodeHasher();
    const wrongIn = async (bytes: Uint8Array) => (await checkBundle('c', once(bytes), hasher)).wrongCount;
    expect(await wrongIn(whole)).toBe(0);
    const place = fc.nat(whole.length - 1);
    await fc.assert(
      fc.asyncProperty(
        place,
        fc.integer({ min: 1, max: 255 }),
        fc.integer({ min: 1, max: 200 }),
        async (at, by, length) => {
          const changed = whole.slice();
          changed[at] = (changed[at] ?? 0) ^ by;
          expect(await wrongIn(changed)).toBeGreaterThan(0);
          const without = Buffer.concat([whole.subarray(0, at), whole.subarray(at + length)]);
          expect(await wrongIn(new Uint8Array(without))).toBeGreaterThan(0);
          const more = Buffer.concat([whole.subarray(0, at), new Uint8Array(length).fill(by), whole.subarray(at)]);
          expect(await wrongIn(new Uint8Array(more))).toBeGreaterThan(0);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('one of another chain is refused whole', async () => {
    const scene = await archived(1);
    const other = await archived(2, { node: { seed: 'another chain' } });
    const { code, report } = await reported(scene.dataDir, 'import', await exported(other));
    expect({ code, ...report }).toMatchObject({ code: 3, taken: 0, records: 0, unusableCount: 1 });
    expect(JSON.stringify(report?.['unusable'])).toContain('It is of the chain that begins with');
  });

  test('a block that the bundle does not list is foreign to it', async () => {
    const scene = await archived(2);
    const file = await exported(scene);
    const other = await archived(1, { node: { seed: 'another chain' } });
    const foreign = readFileSync(await exported(other));
    appendFileSync(file, foreign.subarray(placeOf(foreign, other.blobs[0]?.bytes ?? new Uint8Array()) - 37));
    const checked = await verify(file);
    expect(checked.wrong.map(({ why }) => why)).toEqual(['No part that stands before it lists it.']);
    expect(checked.code).toBe(3);
  });
});
