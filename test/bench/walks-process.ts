/**
 * One walk over a large catalog, in a process of its own, so that its peak of memory is its own. Words: catalog, name of
 * the walk. Prints one JSON line: what the walk counted, its seconds, and the most resident memory.
 */

import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { auditChain } from '../../src/chain/audit.ts';
import { countAtRisk } from '../../src/chain/deadline-watch.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { WindowPictures } from '../../src/reading/window-pictures.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { blobScrub } from '../../src/replication/checked-blobs.ts';
import { compareDocuments } from '../../src/replication/compare-documents.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import type { Holding } from '../../src/replication/holding.ts';
import { Reindex } from '../../src/replication/reindex.ts';
import { reindexedSite } from '../../src/replication/reindexed-places.ts';
import type { ListedBlob, ListedObject, ObjectRange, ObjectStore } from '../../src/storage/object-store.ts';
import { parseRecordPath } from '../../src/storage/record-path.ts';
import { Activity } from '../../src/view/activity.ts';
import { MemoryBackend } from '../replication/memory-backend.ts';
import { MemoryStore } from '../storage/memory-store.ts';
import { open } from './chain-catalog.ts';

const NEVER = new AbortController().signal;
const BACKEND = 'local';
const ARCHIVER = 'bench';
const LOOK_AHEAD = 512;
const GROUP = 16;
/** Each is a durable commit of its own; the queue and the table of losses are of full size all the same. */
const JUDGED = 2_048;
/** A day's part of a scrub in four weeks. */
const SCRUB_DAYS = 28;
const MIB = 1_048_576;

const [path = '', walk = ''] = process.argv.slice(2);
const catalog = open(path);
const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), Date.now);
const damage = new DamageWatch(catalog, conditions, new Activity(), [BACKEND]);

/** A second reader of the same file plays the server that lists: row by row, as pages of a bucket come. */
function* rows(sql: string): Generator<readonly unknown[]> {
  const database = new Database(path, { readonly: true });
  try {
    for (const row of database.prepare(sql).raw().iterate()) yield z.array(z.unknown()).parse(row);
  } finally {
    database.close();
  }
}

const hex = (value: unknown) => z.instanceof(Buffer).parse(value).toString('hex');

async function* listing(): AsyncIterable<ListedBlob> {
  const sql = 'SELECT version_hash, size_bytes FROM content WHERE state > 0 ORDER BY version_hash';
  for (const [hash, size] of rows(sql)) {
    yield { hashType: 'keccak256', versionHash: parseVersionHash(hex(hash)), sizeBytes: Number(size) };
  }
}

async function* recordListing(range: ObjectRange): AsyncIterable<ListedObject> {
  if (range === 'blobs' || !('below' in range) || range.below !== 'occurrences/keccak256/') return;
  const sql =
    'SELECT version_hash, height, txid, vout FROM occurrence INDEXED BY occurrence_by_content ORDER BY version_hash, height';
  for (const [hash, height, txid, vout] of rows(sql)) {
    yield { path: parseRecordPath(`${range.below}${hex(hash)}/${height}-${hex(txid)}-${vout}.json`), sizeBytes: 1 };
  }
}

const records: ObjectStore = Object.assign(new MemoryStore(BACKEND), {
  get: async () => new Uint8Array(2),
  list: recordListing,
});

function holding(list: () => AsyncIterable<ListedBlob>): Holding {
  const backend = new MemoryBackend(BACKEND);
  const store = Object.assign(backend, { list });
  return { id: BACKEND, store, isAdmitted: true, records: null, look: async () => 'good' };
}

const WALKS: Readonly<Record<string, () => Promise<number>>> = {
  open: async () => 0,
  audit: async () => {
    const { occurrences } = await auditChain(
      catalog,
      { from: null, to: null },
      { finalHeight: null, nodeTip: null },
      NEVER,
    );
    return Object.values(occurrences).reduce((sum, count) => sum + count, 0);
  },
  'check, everything listed': async () => {
    return (await blobScrub(holding(listing), { catalog, damage }).check(null, () => {}, NEVER)).listed;
  },
  'check of records and evidence': async () =>
    await compareDocuments(records, catalog, { archiverId: ARCHIVER, countsQueued: false }, NEVER),
  'check, nothing listed': async () => {
    return (
      await blobScrub(
        holding(async function* () {}),
        { catalog, damage },
      ).check(null, () => {}, NEVER)
    ).read;
  },
  'scrub of a day': async () => {
    return (await blobScrub(holding(listing), { catalog, damage }).slice(SCRUB_DAYS, NEVER)).read;
  },
  rebuild: async () => {
    const backend = Object.assign(new MemoryBackend(BACKEND), { list: listing });
    const site = new BackendHandle(backend, { verify: async () => null }, SYSTEM_CLOCK);
    const custom = { adopt: async () => ({}) };
    const reindex = new Reindex(reindexedSite(site, catalog, damage), catalog, custom);
    const found = await reindex.blobs(NEVER);
    return found.adopted + found.damaged + found.unread;
  },
  'judge of losses': async () => {
    let judged = 0;
    while (judged < JUDGED) {
      const overdue = catalog.losses.overdue(Number.MAX_SAFE_INTEGER, LOOK_AHEAD).slice(0, GROUP);
      if (overdue.length === 0) break;
      catalog.losses.record(
        overdue.flatMap(({ versionHash, hashType }) => {
          const upToHeight = hashType === null ? null : catalog.chain.lastHeight({ versionHash, hashType });
          if (hashType === null || upToHeight === null) return [];
          return [{ versionHash, hashType, upToHeight, deadlineSeconds: 1, answers: [] }];
        }),
      );
      judged += overdue.length;
    }
    for (let page = catalog.losses.page(null, LOOK_AHEAD); page.length > 0; ) {
      judged += page.length;
      page = catalog.losses.page(page.at(-1) ?? null, LOOK_AHEAD);
    }
    return judged + catalog.losses.count();
  },
  window: async () => {
    const pictures = new WindowPictures(catalog, { finalHeight: null }, Date.now);
    let blobs = 0;
    for (let look = 0; look < 20; look += 1) {
      blobs += pictures.picture().blocks.reduce((sum, block) => sum + block.blobs.length, 0);
    }
    return blobs;
  },
  status: async () => {
    for (let look = 0; look < 5; look += 1) {
      catalog.queueSummary();
      catalog.figures.setAside();
      catalog.figures.overdue(1);
      catalog.losses.lateness(0, 1);
      catalog.losses.count();
      catalog.custom.countNames(10_000);
      catalog.custom.lostCount();
      catalog.replicas.goodCount(BACKEND);
      catalog.replicas.queued(BACKEND);
      catalog.replicas.damaged(BACKEND, 1_000);
      countAtRisk(catalog, 1);
    }
    const { stored } = catalog.totals();
    return stored;
  },
};

const work = WALKS[walk];
if (work === undefined) throw new Error(`There is no walk named ${walk}; there are: ${Object.keys(WALKS).join(', ')}.`);
const begun = performance.now();
const counted = await work();
const seconds = (performance.now() - begun) / 1_000;
catalog.close();
// The peak of this program alone: `resourceUsage` counts the process that started it as well.
const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
process.stdout.write(`${JSON.stringify({ counted, seconds, peakMib: (Number(peak) * 1_024) / MIB })}\n`);
