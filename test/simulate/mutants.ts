import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A fault that the product had, or could have, put back into a copy of it. */
interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Each is found there, and replaced. */
  readonly edits: readonly { readonly from: string; readonly to: string }[];
  /** The seeds that can show it soonest; of seeds without a chosen theme, one in twenty has it. */
  readonly theme: string;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'a conflict is forgotten when a node goes away',
    file: 'src/chain/conflict-watch.ts',
    edits: [
      {
        from: "stand.kind === 'silent' ? before : stand.kind === 'known' ? sinceFork(before, stand) : null",
        to: "stand.kind === 'known' ? sinceFork(before, stand) : null",
      },
    ],
    theme: 'conflict',
  },
  {
    name: 'a file that cannot be read is stored for ever',
    file: 'src/replication/local-copies.ts',
    edits: [{ from: 'if (mayBeOneFile(second.error) &&', to: 'if (second.error === null &&' }],
    theme: 'bad-disk',
  },
  {
    name: 'a scrub ends at the first file that cannot be read',
    file: 'src/replication/scrub.ts',
    edits: [{ from: 'unclear.length >= MAX_UNCLEAR', to: 'unclear.length >= 1' }],
    theme: 'poison',
  },
  {
    name: 'blobs that the disk refuses go to no backend, and hold up the others',
    file: 'src/replication/blob-writer.ts',
    edits: [
      { from: 'const written = staysHere ?', to: 'const written = staysHere || refusal !== null ?' },
      { from: 'if (mayBeOneFile(refusal) &&', to: 'if (refusal === undefined &&' },
    ],
    theme: 'bad-folder',
  },
  {
    name: 'a cache evicts on the word of the catalog alone',
    file: 'src/replication/eviction-check.ts',
    edits: [
      { from: 'const found = await this.#look(backend, entry, safety, signal);', to: "const found: string = 'good';" },
    ],
    theme: 'cache',
  },
  {
    name: 'a backend that does not answer is reason enough to evict',
    file: 'src/replication/eviction-check.ts',
    edits: [{ from: "return 'silent';\n    }\n  }", to: "return 'good';\n    }\n  }" }],
    theme: 'cache',
  },
  {
    name: 'rows that come back into the queue do not say that they are on chain',
    file: 'migrations/0001_catalog.sql',
    edits: [{ from: 'WHEN NEW.hash_type IS NULL AND EXISTS', to: 'WHEN NEW.hash_type IS NULL AND 0 AND EXISTS' }],
    theme: 'moving',
  },
  {
    name: 'an archive that was restored does not walk down to its records',
    file: 'src/replication/recorded-floor.ts',
    edits: [{ from: 'if (lowest !== null) catalog', to: 'if (lowest === -1) catalog' }],
    theme: 'restored',
  },
  {
    name: 'an audit leaves out the history below the start',
    file: 'src/chain/audit.ts',
    edits: [{ from: 'branch.lowestHeight ?? Number.POSITIVE_INFINITY', to: 'Number.POSITIVE_INFINITY' }],
    theme: 'restored',
  },
  {
    name: 'what is only in memory is called lost',
    file: 'src/chain/loss-judge.ts',
    edits: [{ from: 'const held = await search.inMemory(wanted);', to: 'const held = null;' }],
    theme: 'loss',
  },
  {
    name: 'who does not answer has not got it',
    file: 'src/chain/loss-search.ts',
    edits: [{ from: "return 'no-answer';", to: "return 'absent';" }],
    theme: 'loss',
  },
  {
    name: 'a judge of losses rests for as long as a blob waited for room, three times',
    file: 'src/chain/loss-judge.ts',
    edits: [
      { from: 'this.#askingMs = 0;', to: 'const startedMs = this.#modules.clock.steadyMs();' },
      {
        from: 'pause(Math.min(this.#askingMs * REST_FACTOR, MAX_REST_MS), signal)',
        to: 'pause((this.#modules.clock.steadyMs() - startedMs) * REST_FACTOR, signal)',
      },
    ],
    theme: 'loss',
  },
  {
    name: 'a blob that comes again to a backend alone counts as evicted',
    file: 'src/catalog/arrivals.ts',
    edits: [{ from: 'this.#unmined.recordReturned(name);', to: '' }],
    theme: 'loss',
  },
  {
    name: 'a repaired copy is counted at the next look at the disk alone',
    file: 'src/replication/local-mender.ts',
    edits: [{ from: 'await writer.recount();', to: '' }],
    theme: 'settings',
  },
  {
    name: 'what a crash left of an eviction lies there for good',
    file: 'src/replication/orphan-sweep.ts',
    edits: [{ from: 'if (!room.isCache) return;', to: 'if (room.isCache) return;' }],
    theme: 'evictions',
  },
  {
    name: 'a copy in no books that cannot be read lies there for good',
    file: 'src/replication/orphan-sweep.ts',
    edits: [
      {
        from: "if (kind === 'missing') return false;",
        to: "if (kind !== 'good') return false;",
      },
    ],
    theme: 'evictions',
  },
  {
    name: 'an eviction of small blobs gives the disk nothing back',
    file: 'src/replication/disk-quota.ts',
    edits: [{ from: 'await this.#modules.store.reclaim(signal);', to: 'await Promise.resolve();' }],
    theme: 'sizes',
  },
  {
    name: 'a purge leaves the bytes in free pages',
    file: 'src/storage/local/sqlite-blob-store.ts',
    edits: [
      { from: "pragma('secure_delete = FAST');\n    } catch", to: "pragma('secure_delete = OFF');\n    } catch" },
      { from: "pragma('secure_delete = ON')", to: "pragma('secure_delete = OFF')" },
    ],
    theme: 'take-downs',
  },
  {
    name: 'a file is acknowledged before it is synced',
    file: 'src/storage/local/durable-file.ts',
    edits: [{ from: '      await handle.sync();\n      const written', to: '      const written' }],
    theme: 'power',
  },
  {
    name: 'a name is acknowledged before its folder is synced',
    file: 'src/storage/local/durable-file.ts',
    edits: [{ from: '  await syncFolder(dirname(path));\n  return identity;', to: '  return identity;' }],
    theme: 'power',
  },
  {
    name: 'the gate lets through what is withheld',
    file: 'src/reading/gate.ts',
    edits: [{ from: 'if (first === undefined) return null;', to: 'if (first !== null) return null;' }],
    theme: 'take-downs',
  },
  {
    name: 'a scrub tells nobody what it finds damaged',
    file: 'src/replication/checked-blobs.ts',
    edits: [{ from: 'this.#modules.damage.report(this.backend, entry)', to: 'entry.sizeBytes < 0' }],
    theme: 'bad-disk',
  },
  {
    name: 'a route answers 404 for a blob that is not fetched yet',
    file: 'src/http/blob-lookup.ts',
    edits: [{ from: "'not-fetched-yet': 'blob/not-fetched-yet'", to: "'not-fetched-yet': 'blob/absent'" }],
    theme: 'bad-folder',
  },
  {
    name: 'the last bytes of a blob are answered with its first ones',
    file: 'src/http/byte-range.ts',
    edits: [
      {
        from: 'first: Math.max(sizeBytes - lengthBytes, 0), last: sizeBytes - 1',
        to: 'first: 0, last: lengthBytes - 1',
      },
    ],
    theme: 'bad-folder',
  },
  {
    name: 'the memory of an answer is never given back',
    file: 'src/http/app.ts',
    edits: [{ from: "else reply.raw.once('close', share.giveBack);", to: '' }],
    theme: 'take-downs',
  },
];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    /** Part of a mutant's name. */
    only: { type: 'string', default: '' },
    /** Seeds of a few hours. */
    short: { type: 'boolean', default: false },
  },
});

const FOUND = /^seed (\d+): (.+)$/m;

interface Finding {
  readonly seed: number;
  readonly what: string;
}

/** The first seed of these in which a claim does not hold; null: it holds in all of them. */
function firstFailure(main: string, theme: string, from: number, seeds: number): Finding | null {
  const words = ['--from', String(from), '--seeds', String(seeds), '--theme', theme, '--as-it-is', '--first'];
  words.push(values.short ? '--short' : '--long');
  const { stdout, stderr, status } = spawnSync(process.execPath, [...process.execArgv, main, ...words], {
    encoding: 'utf8',
  });
  const found = FOUND.exec(stdout);
  if (found !== null) return { seed: Number(found[1]), what: found[2] ?? '' };
  if (status !== 0) throw new Error(`the simulation ended with ${status}: ${stdout}${stderr}`);
  return null;
}

/** A copy of the product below this folder, where the installed packages are found, with one fault. */
function copyWith({ name, file, edits }: Mutant): string {
  const folder = join(ROOT, '.mutants', String(process.pid));
  rmSync(folder, { recursive: true, force: true });
  for (const part of ['src', 'test', 'migrations', 'package.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  let text = readFileSync(join(folder, file), 'utf8');
  for (const { from, to } of edits) {
    if (!text.includes(from)) throw new Error(`${file} does not say what the mutant replaces: ${name}`);
    text = text.replace(from, to);
  }
  writeFileSync(join(folder, file), text);
  return folder;
}

const MAIN = 'test/simulate/main.ts';
const begin = Number(values.from);
const end = begin + Number(values.seeds);
let missed = 0;
for (const mutant of MUTANTS.filter((one) => one.name.includes(values.only))) {
  const folder = copyWith(mutant);
  const { name, theme } = mutant;
  let told = `not found in ${values.seeds} seeds of ${theme}`;
  for (let from = begin; from < end; ) {
    const found = firstFailure(join(folder, MAIN), theme, from, end - from);
    if (found === null) break;
    from = found.seed + 1;
    // A seed in which the product itself fails shows nothing of the mutant.
    if (firstFailure(join(ROOT, MAIN), theme, found.seed, 1) !== null) continue;
    told = `found after ${from - begin} seeds of ${theme}: ${found.what}`;
    break;
  }
  if (told.startsWith('not')) missed += 1;
  process.stdout.write(`${name}\n  ${told}\n`);
}
rmSync(join(ROOT, '.mutants', String(process.pid)), { recursive: true, force: true });
process.exit(missed === 0 ? 0 : 1);
