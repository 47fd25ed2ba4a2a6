/**
 * `npm run bench [-- --json] [-- --rounds=n] [-- name …]`: ratios against a limit measured in the same run. The machine
 * is shared: run it again before believing one figure. `--rounds` is for those that take long, 3 as they come.
 */
import { benchAttack } from './attack/attack.ts';
import { benchBundle } from './bundle.ts';
import { benchCatalogApart } from './chain-catalog.ts';
import { benchCheckListing } from './check-listing.ts';
import { benchClient } from './client.ts';
import { benchCost } from './cost.ts';
import { benchDevnode } from './devnode.ts';
import { benchDrain } from './drain.ts';
import { describe, type Figure } from './figure.ts';
import { benchFirstMinute } from './first-minute.ts';
import { benchHistory } from './history.ts';
import { benchHttp } from './http/http.ts';
import { benchInventory } from './inventory.ts';
import { benchIpfs } from './ipfs.ts';
import { benchRebuild } from './rebuild.ts';
import { benchReplicationToKubo, benchReplicationToS3 } from './replication.ts';
import { benchS3 } from './s3.ts';
import { benchStart } from './start.ts';
import { benchWalks } from './walks.ts';

const BENCHES: Readonly<Record<string, (roundCount: number) => Promise<Figure[]>>> = {
  'first-minute': () => benchFirstMinute(),
  start: benchStart,
  drain: benchDrain,
  client: benchClient,
  devnode: benchDevnode,
  cost: () => benchCost(),
  history: () => benchHistory(),
  catalog: benchCatalogApart,
  walks: () => benchWalks(1_000_000),
  http: benchHttp,
  attack: benchAttack,
  s3: benchS3,
  'replication-s3': benchReplicationToS3,
  'replication-ipfs': benchReplicationToKubo,
  'check-listing': benchCheckListing,
  rebuild: (roundCount) => benchRebuild(roundCount),
  ipfs: benchIpfs,
  inventory: () => benchInventory(),
  bundle: () => benchBundle(),
};

const words = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith('--'));
const rounds = words.find((word) => word.startsWith('--rounds='))?.slice('--rounds='.length);
const asJson = words.includes('--json');
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no bench named ${unknown.join(', ')}. Known: ${Object.keys(BENCHES).join(', ')}.\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const figures = await bench(Number(rounds ?? 3));
  for (const figure of figures) {
    process.stdout.write(`${asJson ? JSON.stringify({ bench: name, ...figure }) : describe(figure)}\n`);
  }
}
