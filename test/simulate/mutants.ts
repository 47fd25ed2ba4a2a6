import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A fault that the product had, or could have, put back into a copy of it. */
interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Events that can show it: with all of them it takes more seeds. */
  readonly kinds: string;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'a conflict is forgotten when a node goes away',
    file: 'src/chain/conflict-watch.ts',
    from: "stand.kind === 'silent' ? nodeBranches.all.get(name) : stand.kind === 'known' ? stand.branch : null",
    to: "stand.kind === 'known' ? stand.branch : null",
    kinds: 'node-parts,node-away',
  },
  {
    name: 'who does not answer has not got it',
    file: 'src/chain/loss-judge.ts',
    from: "return 'no-answer';",
    to: "return 'absent';",
    kinds: 'node-forgets,store-gone,store-loses-object',
  },
  {
    name: 'a backend that does not answer is reason enough to evict',
    file: 'src/replication/eviction-check.ts',
    from: "return 'silent';\n    }\n  }",
    to: "return 'good';\n    }\n  }",
    kinds: 'store-wiped,store-gone',
  },
  {
    name: 'a file is acknowledged before it is synced',
    file: 'src/storage/local/durable-file.ts',
    from: '      await handle.sync();\n',
    to: '',
    kinds: 'power-loss',
  },
  {
    name: 'a name is acknowledged before its folder is synced',
    file: 'src/storage/local/durable-file.ts',
    from: '  await syncFolder(dirname(path));\n  return identity;',
    to: '  return identity;',
    kinds: 'power-loss',
  },
  {
    name: 'the gate lets through what is withheld',
    file: 'src/reading/gate.ts',
    from: 'if (first === undefined) return null;',
    to: 'if (first !== undefined || first === undefined) return null;',
    kinds: 'withhold,crash',
  },
  {
    name: 'a scrub tells nobody what it finds damaged',
    file: 'src/replication/scrub.ts',
    from: 'damage.report(holding.id, entry)',
    to: 'entry.sizeBytes < 0',
    kinds: 'store-rots,store-loses-object',
  },
];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    /** Part of a mutant's name. */
    only: { type: 'string', default: '' },
  },
});

/** Each mutant in a folder of its own below this one, where the installed packages are found. */
for (const { name, file, from, to, kinds } of MUTANTS.filter((one) => one.name.includes(values.only))) {
  const folder = join(ROOT, '.mutants', String(process.pid));
  for (const part of ['src', 'test', 'migrations', 'package.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  const before = readFileSync(join(folder, file), 'utf8');
  if (!before.includes(from)) throw new Error(`${file} does not say what the mutant replaces: ${name}`);
  writeFileSync(join(folder, file), before.replace(from, to));
  const words = ['--from', values.from, '--seeds', values.seeds, '--kinds', kinds, '--as-it-is', '--first'];
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'test/simulate/main.ts'), ...words], {
    encoding: 'utf8',
  });
  process.stdout.write(`${name}\n${stdout.replace(/^/gm, '  ')}${stderr}\n`);
  rmSync(folder, { recursive: true, force: true });
}
