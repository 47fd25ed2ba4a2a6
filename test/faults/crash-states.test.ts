import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { z } from 'zod';
import { Catalog } from '../../src/catalog/catalog.ts';
import { type HashType, parseVersionHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { hashWith } from '../../src/verify/hasher.ts';
import { MIGRATIONS } from '../catalog/catalog-in-folder.ts';
import { startArchive, startNode, untilStored } from '../e2e/archive-process.ts';
import { publish } from '../e2e/backends/real-backends.ts';
import { HASHER, NEVER } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { FileFaults, testWithFileFaults } from './file-faults.ts';
import { RecordedVolume, readChanges, type Survivors } from './recorded-changes.ts';

const POINTS = 24;
const SURVIVORS: readonly Survivors[] = ['none', 'some', 'some', 'all'];
const claims = z.array(z.object({ name: z.string(), type: z.union([z.literal(1), z.literal(2)]) }));
const TYPES: Readonly<Record<1 | 2, HashType>> = { 1: 'keccak256', 2: 'blake2s256' };

/** A linear congruential generator: the same points and the same torn writes every time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Opens a state as the daemon does, and gives every name that is claimed. Throws when a claim is not true. */
async function trueClaims(dataDir: string): Promise<ReadonlySet<string>> {
  if (!existsSync(dataDir)) return new Set();
  const folder = await DataFolder.claim(dataDir);
  await folder.settleMode('keep', false);
  const store = await LocalStore.open(dataDir, SYSTEM_CLOCK);
  const path = join(dataDir, 'catalog.sqlite');
  const options = { backends: ['local'], localIsCache: false, replicasRequired: 1, clock: SYSTEM_CLOCK };
  Catalog.open({ path, migrationsFolder: MIGRATIONS, ...options }).close();
  const database = new Database(path, { readonly: true });
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    const rows = database.prepare(
      'SELECT lower(hex(version_hash)) AS name, hash_type AS type FROM content WHERE state > 0',
    );
    const claimed = claims.parse(rows.all());
    for (const { name, type } of claimed) {
      const versionHash = parseVersionHash(name);
      const bytes = await store.get({ hashType: TYPES[type], versionHash }, NEVER);
      expect(bytes === null ? 'nothing' : Buffer.from(hashWith(HASHER, TYPES[type], bytes)).toString('hex')).toBe(name);
    }
    return new Set(claimed.map(({ name }) => name));
  } finally {
    database.close();
    await store.close();
    await folder.release();
  }
}

testWithFileFaults(
  'a power failure between any two changes of files leaves no false claim and takes none back',
  async () => {
    const root = temporaryFolder();
    const dataDir = join(root, 'data');
    const faults = new FileFaults(root);
    const node = await startNode();
    const daemon = await startArchive({ dataDir, node, env: faults.env });
    for (const round of [1, 2, 3]) {
      publish(node, `crash ${round}`, 8);
      await untilStored(daemon, 8 * round);
    }
    daemon.kill('SIGKILL');
    await daemon.ended;

    const changes = readChanges(readFileSync(faults.log));
    const random = seeded(20_261_122);
    const points = new Set(Array.from({ length: POINTS }, () => Math.floor(random() * changes.length)));
    points.add(changes.length - 1);
    const volume = new RecordedVolume(root);
    const state = join(temporaryFolder(), 'state');
    let durable: ReadonlySet<string> = new Set();
    for (const [index, change] of changes.entries()) {
      volume.apply(change);
      if (!points.has(index)) continue;
      for (const survivors of SURVIVORS) {
        volume.write(state, survivors, random);
        const claimed = await trueClaims(join(state, 'data'));
        const gone = [...durable].filter((name) => !claimed.has(name));
        expect(gone, `change ${index} of ${changes.length}, ${survivors} survive`).toEqual([]);
        if (survivors === 'none') durable = claimed;
      }
    }
    expect(durable.size).toBe(24);
  },
);
