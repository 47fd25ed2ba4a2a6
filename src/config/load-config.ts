import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { clauseOf, messageOf } from '../core/blob/errors.ts';
import { readConfigFile } from './config-file.ts';
import { ConfigError } from './errors.ts';
import { nearestName } from './nearest-name.ts';
import { hasSecretFile, type Setting } from './setting.ts';
import { SETTING_NAMES, SETTINGS, type SettingName, type SettingValues } from './settings.ts';

export type Origin = 'flag' | 'environment' | 'secret file' | 'file' | 'default';

export interface Config {
  readonly values: SettingValues;
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** Absolute path of the configuration file; null when none was read. */
  readonly file: string | null;
}

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Flags by name, such as `--data-dir`. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Path from `--config`; when undefined, `HOLDFAST_CONFIG` names the file. */
  readonly file: string | undefined;
  readonly cwd: string;
}

interface Given {
  readonly origin: Origin;
  readonly value: unknown;
  /** Name of the place that set the value, as messages print it. */
  readonly from: string;
}

const FILE_VARIABLE = 'HOLDFAST_CONFIG';

/**
 * Reads flags, environment and file, and validates every setting.
 * @throws ConfigError that lists every problem found
 */
export function loadConfig(sources: ConfigSources): Config {
  const path = sources.file ?? sources.env[FILE_VARIABLE];
  const file = path === undefined || path === '' ? null : resolve(sources.cwd, path);
  const leaves = file === null ? new Map<string, unknown>() : readConfigFile(file);
  const problems = [...unknownVariables(sources.env), ...unknownKeys(leaves, file ?? '')];

  const origins: Partial<Record<SettingName, Origin>> = {};
  const values: Partial<Record<SettingName, unknown>> = {};
  for (const name of SETTING_NAMES) {
    const setting: Setting<unknown> = SETTINGS[name];
    try {
      const given = whereGiven(setting, sources, leaves, file);
      const result = setting.schema.safeParse(given.value);
      if (!result.success) problems.push(describe(setting, given, result.error.issues[0]));
      origins[name] = given.origin;
      values[name] = result.data;
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  if (problems.length > 0) throw invalid(problems);
  if (!isWhole<SettingValues>(values) || !isWhole<Config['origins']>(origins))
    throw new TypeError('a setting was left unread');
  return Object.freeze({ values: Object.freeze(values), origins: Object.freeze(origins), file });
}

/** Reports whether every setting has an entry. Each entry was validated by its own schema before. */
function isWhole<T extends Record<SettingName, unknown>>(read: Partial<Record<SettingName, unknown>>): read is T {
  return SETTING_NAMES.every((name) => name in read);
}

function whereGiven(
  setting: Setting<unknown>,
  { env, flags }: ConfigSources,
  leaves: ReadonlyMap<string, unknown>,
  file: string | null,
): Given {
  const flag = setting.flag === null ? undefined : flags[setting.flag];
  if (flag !== undefined) return { origin: 'flag', value: flag, from: setting.flag ?? '' };
  const variable = setting.env === null ? undefined : env[setting.env];
  const secretFile = hasSecretFile(setting) && setting.env !== null ? env[`${setting.env}_FILE`] : undefined;
  if (variable !== undefined && secretFile !== undefined) {
    throw new Error(`${setting.env} and ${setting.env}_FILE are both set; set one of them.`);
  }
  if (variable !== undefined && variable !== '') {
    return { origin: 'environment', value: variable, from: setting.env ?? '' };
  }
  if (secretFile !== undefined) {
    return { origin: 'secret file', value: readSecret(setting, secretFile), from: `${setting.env}_FILE` };
  }
  if (leaves.has(setting.key)) {
    return { origin: 'file', value: leaves.get(setting.key), from: `${setting.key} in ${file}` };
  }
  return { origin: 'default', value: setting.fallback, from: 'the default' };
}

function readSecret(setting: Setting<unknown>, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Error(`${setting.env}_FILE cannot be read: ${clauseOf(error)}.`);
  }
}

function describe(setting: Setting<unknown>, given: Given, found: z.core.$ZodIssue | undefined): string {
  const issue = found === undefined ? undefined : innermost(found);
  // A list of addresses can hold a token beside each.
  const isAddress = setting.secret === 'address' && typeof given.value !== 'object';
  const isShown = setting.secret === false || isAddress;
  const shown = !isShown ? '' : ` (it is ${JSON.stringify(withoutCredentials(given.value))})`;
  const within = issue === undefined || issue.path.length === 0 ? '' : `, at ${issue.path.join('.')},`;
  return `${given.from}${within} ${issue?.message ?? 'is not valid'}${shown}.`;
}

/** The problem that lies deepest within one form of a value that can have several; itself where none lies within. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const [deepest] = issue.errors
    .flatMap((problems) => problems.slice(0, 1))
    .toSorted((a, b) => b.path.length - a.path.length);
  return deepest === undefined || deepest.path.length === 0 ? issue : deepest;
}

export function withoutCredentials(value: unknown): unknown {
  return typeof value === 'string' ? addressWithoutCredentials(value) : value;
}

/** Replaces user, password and query of an address by `***`. Works on malformed addresses too, which messages quote. */
export function addressWithoutCredentials(address: string): string {
  return address
    .replace(/\/\/.*@/s, '//***@')
    .replace(/^[^/]*:(?!\/\/).*@/s, '***@')
    .replace(/(^[a-z]+:\/\/.*?)[?#].+/is, '$1?***');
}

function unknownVariables(env: ConfigSources['env']): string[] {
  const known = new Set<string>([FILE_VARIABLE]);
  for (const setting of Object.values(SETTINGS)) {
    const { env: name } = setting;
    if (name === null) continue;
    known.add(name);
    if (hasSecretFile(setting)) known.add(`${name}_FILE`);
  }
  return Object.keys(env)
    .filter((name) => name.startsWith('HOLDFAST_') && !known.has(name))
    .map((name) => `The environment variable ${name} is not known to this version${nearest(name, [...known])}.`);
}

function unknownKeys(leaves: ReadonlyMap<string, unknown>, file: string): string[] {
  const known = Object.values(SETTINGS).map(({ key }) => key);
  return [...leaves.keys()]
    .filter((key) => !known.includes(key))
    .map(
      (key) =>
        `The key ${key === '' ? '(top level)' : key} in ${file} is not known to this version${nearest(key, known)}.`,
    );
}

function nearest(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  return meant === null ? '' : ` (did you mean ${meant}?)`;
}

function invalid(problems: readonly string[]): ConfigError {
  return new ConfigError('config/invalid', problems.join('\n'), {
    details: { problems },
    retryable: false,
    hint: 'Fix the settings above, then start again; `holdfast config --help` lists every setting.',
  });
}
