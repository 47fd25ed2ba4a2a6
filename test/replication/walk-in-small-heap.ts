import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Catalog } from '../../src/catalog/catalog.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { compareListing } from '../../src/replication/compare-listing.ts';
import type { ListedBlob } from '../../src/storage/object-store.ts';
import { MIGRATIONS } from '../catalog/catalog-in-folder.ts';

/** Run by its test in a process of its own, with a small heap: `<folder> <blobs>`. */
const [folder = '', blobs = '0'] = process.argv.slice(2);
const path = join(folder, 'catalog.sqlite');
const open = () =>
  Catalog.open({
    path,
    migrationsFolder: MIGRATIONS,
    backends: ['s3'],
    localIsCache: true,
    replicasRequired: 1,
    clock: SYSTEM_CLOCK,
  });
open().close();
const database = new Database(path);
database.pragma('synchronous = OFF');
database.exec(
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${Number(blobs)})
   INSERT INTO content (version_hash, hash_type, sequence, state, size_bytes, txid, median_time_seconds, first_seen_ms, spooled_ms, stored_ms, unmined)
   SELECT randomblob(32), 1, i, 2, 100000, randomblob(32), 1790000000, 1, 1, 1, 0 FROM n`,
);
database.exec(
  "INSERT INTO copy (backend_id, kind, object, state, verified_ms) SELECT (SELECT id FROM backend WHERE name = 's3'), 5, sequence, 1, 1 FROM content",
);
database.close();

const catalog = open();
/** A bucket that was emptied, or whose prefix is another one now. */
const store = { id: 's3', async *list(): AsyncIterable<ListedBlob> {} };
let asked = 0;
let turns = 0;
const beating = setInterval(() => {
  turns += 1;
}, 5);
await compareListing(
  store,
  catalog,
  () => {},
  {
    askByName: async (doubtful) => {
      asked += doubtful.length;
    },
    turnedUp: async () => 0,
  },
  new AbortController().signal,
);
clearInterval(beating);
catalog.close();
process.stdout.write(JSON.stringify({ asked, hadTurns: turns > 1 }));
