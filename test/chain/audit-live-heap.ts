import { join } from 'node:path';
import { setImmediate as aTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Catalog } from '../../src/catalog/catalog.ts';
import { auditChain } from '../../src/chain/audit.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { MIGRATIONS } from '../catalog/catalog-in-folder.ts';

/** Child process of its test, with `--expose-gc`: `<folder> <custom contents>`. */
const [folder = '', contents = '0'] = process.argv.slice(2);
const path = join(folder, 'catalog.sqlite');
const catalog = Catalog.open({
  path,
  migrationsFolder: MIGRATIONS,
  backends: [],
  localIsCache: false,
  replicasRequired: 1,
  clock: SYSTEM_CLOCK,
});
catalog.chain.recordStart(7);
const database = new Database(path);
database.pragma('synchronous = OFF');
database.exec(
  `INSERT INTO block (height, hash, previous_hash, time_seconds, median_time_seconds) VALUES (7, randomblob(32), randomblob(32), 1, 1);
   INSERT INTO custom (version_hash, keccak, size_bytes, kept_ms, is_held)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${Number(contents)})
     SELECT randomblob(32), randomblob(32), 9, 1, 1 FROM n;
   INSERT INTO occurrence (height, transaction_index, version_hash, hash_type, txid, vout)
     SELECT 7, sequence, version_hash, 1, randomblob(32), 0 FROM custom`,
);
database.close();

/** Turns of the event loop between two looks: the audit takes one for each custom content. */
const TURNS = 1_000;
const liveBytes = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};
const range = { from: null, to: null };
const signal = new AbortController().signal;
const audit = () => auditChain(catalog, range, { finalHeight: null, nodeTip: null }, signal);

const before = liveBytes();
const underWay = audit();
let isOver = false;
underWay.finally(() => {
  isOver = true;
});
let maxBytes = 0;
let looks = 0;
while (!isOver) {
  for (let turn = 0; turn < TURNS && !isOver; turn += 1) await aTurn();
  maxBytes = Math.max(maxBytes, liveBytes());
  looks += 1;
}
const { occurrences } = await underWay;
catalog.close();
process.stdout.write(JSON.stringify({ ...occurrences, grownBytes: maxBytes - before, looks }));
