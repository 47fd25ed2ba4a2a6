import { globSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TextlintKernel, type TextlintKernelPlugin, type TextlintKernelRule } from '@textlint/kernel';
import { parse } from 'yaml';
import { z } from 'zod';
import { prosePlugin } from './prose-plugin.ts';
import { coinageRule, noSubjectRule, questionRule, sentenceLengthRule } from './rules.ts';

/** One place whose words break a rule. Line and column count from 1. */
export interface ProseFinding {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly rule: string;
  readonly message: string;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const readYaml = (name: string): unknown => parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

/** Rooms and single files that hold the rules. */
export const COVERED = z
  .strictObject({ rooms: z.array(z.string()), files: z.array(z.string()) })
  .parse(readYaml('covered.yaml'));

export const COINAGES = z
  .array(z.strictObject({ prose: z.string().optional(), name: z.string().optional(), say: z.string() }))
  .parse(readYaml('coinages.yaml'));

const PLUGINS: TextlintKernelPlugin[] = [{ pluginId: 'prose', plugin: prosePlugin }];
const RULES: TextlintKernelRule[] = [
  { ruleId: 'coinage', rule: coinageRule(COINAGES) },
  { ruleId: 'opening', rule: noSubjectRule },
  { ruleId: 'question', rule: questionRule },
  { ruleId: 'sentence-length', rule: sentenceLengthRule },
];

const KERNEL = new TextlintKernel();

/** Paths of every covered file, from the top of the repository. */
export function coveredFiles(): string[] {
  const folders = COVERED.rooms.flatMap((room) => [`src/${room}`, `test/${room}`]);
  const patterns = folders.flatMap((folder) => ['ts', 'mjs', 'md'].map((ending) => `${folder}/**/*.${ending}`));
  return [...COVERED.files, ...globSync(patterns, { cwd: ROOT }).map((path) => path.split(sep).join('/'))].sort();
}

/** Reads each file and gives what breaks a rule, in the order of the files. */
export async function checkProse(paths: readonly string[]): Promise<ProseFinding[]> {
  const findings: ProseFinding[] = [];
  for (const path of paths) findings.push(...(await checkText(readFileSync(join(ROOT, path), 'utf8'), path)));
  return findings;
}

/** The ending of `path` decides how the text is read: `.ts` and `.mjs` as source, `.md` as a document. */
export async function checkText(text: string, path: string): Promise<ProseFinding[]> {
  const options = { ext: extname(path), filePath: path, plugins: PLUGINS, rules: RULES };
  const { messages } = await KERNEL.lintText(text, options);
  return messages.map(({ loc, ruleId, message }) => ({ path, ...loc.start, rule: ruleId, message }));
}
