import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { everyCommand } from '../../src/cli/run-cli.ts';
import { hasSecretFile, SETTING_NAMES, SETTINGS } from '../../src/config/index.ts';
import { commandsOf, filledIn, PAGES, ROOT, shellBlocks } from './markdown.ts';

/** Lines that the documentation tells people to type are parsed as what they are: shell, then Holdfast's commands and names. */

const PAGES_WITH_SHELL = PAGES.filter((page) => shellBlocks(page).length > 0);
const shell = PAGES_WITH_SHELL.flatMap((page) => shellBlocks(page).map((block) => ({ page: page.path, block })));
const commands = shell.flatMap(({ page, block }) => commandsOf(block).map((words) => ({ page, words })));
const scripts = Object.keys(
  z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))).scripts,
);

/** The words after `holdfast`, however it is called: itself, by npm, or in a container. */
function ourWords(words: readonly string[]): readonly string[] | null {
  if (words[0] === 'holdfast') return words.slice(1);
  if (words.includes('--entrypoint')) return null;
  const joined = words.join(' ');
  const called =
    /^npm run -s holdfast --(?: |$)|^(?:docker|kubectl) .*?(?:exec|run) .*\bholdfast(?:[:@]\S+)? (?=[a-z]+)/.exec(
      joined,
    );
  return called === null ? null : joined.slice(called[0].length).split(' ');
}

const ours = commands.flatMap(({ page, words }) => {
  const own = ourWords(words);
  return own === null ? [] : [{ page, words: own }];
});

const defined = await everyCommand();

function complaint(words: readonly string[]): string | null {
  const [name = '', ...rest] = words;
  if (name === '' || /^--(help|version|json)$/.test(name)) return null;
  const command = defined.find((one) => one.name() === name);
  if (command === undefined) return `there is no command ${name}`;
  if (name === 'rpc') return null;
  const { operands, unknown } = command.exitOverride().parseOptions(rest);
  const needed = command.registeredArguments.filter(({ required }) => required).length;
  if (unknown.length > 0) return `${name} does not know ${unknown.join(' ')}`;
  if (operands.length < needed && !rest.includes('--help'))
    return `${name} takes ${needed} words, not ${operands.length}`;
  const taken = command.registeredArguments.some(({ variadic }) => variadic)
    ? operands.length
    : command.registeredArguments.length;
  return operands.length > taken ? `${name} takes no ${operands.slice(taken).join(' ')}` : null;
}

describe('a line that the documentation tells people to type', () => {
  test('exists', () => {
    expect(PAGES_WITH_SHELL.map(({ path }) => path)).toEqual(expect.arrayContaining(['README.md', 'config/README.md']));
    expect(ours.length).toBeGreaterThan(15);
  });

  test.each(PAGES_WITH_SHELL.map((page) => [page.path, page] as const))('%s: the shell can parse it', (_path, page) => {
    for (const block of shellBlocks(page)) {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: filledIn(block), encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
    }
  });

  test('every command of Holdfast is one, with its options and arguments', () => {
    const wrong = ours.flatMap(({ page, words }) => {
      const said = complaint(words);
      return said === null ? [] : [`${page}: ${said} (${words.join(' ')})`];
    });
    expect(wrong).toEqual([]);
  });

  test('every script that npm is told to run is there', () => {
    const told = commands.filter(({ words: [first] }) => first === 'npm').map(({ words }) => words.slice(1));
    const named = told.map(([first = '', ...rest]) =>
      first === 'run' ? rest.find((word) => !word.startsWith('-')) : first,
    );
    expect(named.length).toBeGreaterThan(3);
    expect(
      named.filter((name) => ![...scripts, 'ci', 'install', 'pack', 'sbom', 'audit'].includes(name ?? '')),
    ).toEqual([]);
  });

  test('every value that Helm is told to set is one of the chart', () => {
    const values: unknown = parse(readFileSync(join(ROOT, 'helm/values.yaml'), 'utf8'));
    const helm = commands.filter(({ words: [first] }) => first === 'helm');
    const paths = helm.flatMap(({ words }) =>
      words.filter((_word, index) => /^--set(-string|-file|-json)?$/.test(words[index - 1] ?? '')),
    );
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const [first = '', second = ''] = path.split(/[.=[]/);
      expect(values).toHaveProperty(first);
      // Below these, the names are the settings' own, which Helm checks by the schema.
      if (!['config', 'secret'].includes(first)) expect(values).toHaveProperty([first, second]);
    }
  });
});

describe('a name in the documentation', () => {
  test('every setting is one of this version', () => {
    // The second one is for long runs of the tests themselves.
    const known = new Set(['HOLDFAST_CONFIG', 'HOLDFAST_FUZZ_RUNS']);
    for (const name of SETTING_NAMES) {
      const { env } = SETTINGS[name];
      if (env !== null) known.add(env);
      if (env !== null && hasSecretFile(SETTINGS[name])) known.add(`${env}_FILE`);
    }
    const named = PAGES.flatMap(({ path, text }) =>
      [...text.matchAll(/\bHOLDFAST_[A-Z][A-Z0-9_]*[A-Z0-9]\b(?!…)/g)].map(([name]) => ({ path, name })),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ name }) => !known.has(name))).toEqual([]);
  });

  test('every room is in the table of rooms', () => {
    const text = PAGES.find(({ path }) => path === 'README.md')?.text ?? '';
    const [rows = ''] = text.slice(text.indexOf('## The rooms') + 3).split('\n## ');
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(rooms.map(({ name }) => name).filter((name) => !rows.includes(`\`${name}\``))).toEqual([]);
  });

  test('every link inside of the repository leads somewhere', () => {
    const links = PAGES.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, to = '']) => ({ path, to })),
    );
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter(({ path, to }) => !leadsSomewhere(path, to))).toEqual([]);
  });
});

function leadsSomewhere(path: string, to: string): boolean {
  const [file = '', anchor] = to.split('#');
  const target = file === '' ? path : join(dirname(path), file);
  if (!existsSync(join(ROOT, target))) return false;
  if (anchor === undefined) return true;
  const headings = PAGES.find((page) => page.path === target)?.text.matchAll(/^#+ (.*)$/gm) ?? [];
  return [...headings].some(([, heading = '']) => slug(heading) === anchor);
}

/** The anchor that forges make of a heading. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
