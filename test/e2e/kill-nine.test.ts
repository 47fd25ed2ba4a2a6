import { availableParallelism } from 'node:os';
import { test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { startArchive, startNode, untilStored } from './archive-process.ts';
import { Torture, type TortureMode } from './torture.ts';

/** Kills in each mode. With HOLDFAST_TORTURE_CYCLES=1000 this file kills so often, and says a line for each kill. */
const KILLS = Number(process.env['HOLDFAST_TORTURE_CYCLES'] ?? 10);
const FIRST_SEED = Number(process.env['HOLDFAST_TORTURE_SEED'] ?? 1);
/** Each run begins with an empty folder, so that the comparison after a kill does not take longer and longer. */
const KILLS_OF_A_RUN = 25;
const MODES: readonly TortureMode[] = ['keep', 'cache'];

test.each(MODES)(
  'kill -9 at random moments loses nothing, fetches nothing twice, and leaves no false claim: %s',
  {
    // A start of a process for each kill, one after the other.
    timeout: 300_000 + KILLS * 60_000,
  },
  async (mode) => {
    const seeds = Array.from({ length: Math.ceil(KILLS / KILLS_OF_A_RUN) }, (_, index) => FIRST_SEED + index);
    const tell = (line: string) => {
      if (seeds.length > 1) process.stdout.write(`${new Date().toISOString()} ${line}\n`);
    };
    const lane = async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        await Torture.run(mode, seed, Math.min(KILLS, KILLS_OF_A_RUN), tell);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, lane));
  },
);

test('a kill -9 while the catalog is made again does not leave the rest of the folder unindexed', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const first = await startArchive({ dataDir, node });
  await untilStored(first, 22);
  first.kill('SIGKILL');
  await first.ended;
  await forgetMostOf(dataDir);

  await node.close();
  const second = await startArchive({ dataDir, node });
  await untilStored(second, 22);
});

/** The catalog as a crash leaves it that came in the middle of a rebuild: some rows, and not said to be whole. */
async function forgetMostOf(dataDir: string): Promise<void> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(`${dataDir}/catalog.sqlite`);
  database.exec(
    "DELETE FROM fact WHERE name = 'rebuilt'; DELETE FROM copy WHERE kind = 5 AND object > 5; DELETE FROM content WHERE sequence > 5",
  );
  database.close();
}
