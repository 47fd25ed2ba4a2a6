import { stringify } from 'yaml';
import { type Config, nodeUrls, SETTING_NAMES, SETTINGS, type SettingName } from '../config/index.ts';

/** Settings that a file gets, by their names. */
export type ChosenSettings = ReadonlyMap<SettingName, unknown>;

/** Settings from flags and environment, without secrets: an address loses its user and password. */
export function chosenSettings({ values, origins }: Config): ChosenSettings {
  const chosen = new Map<SettingName, unknown>();
  for (const name of SETTING_NAMES) {
    const { secret, env } = SETTINGS[name];
    if (origins[name] === 'default' || secret === true || env === null) continue;
    const value: unknown = values[name];
    chosen.set(name, secret === 'address' && typeof value === 'string' ? withoutUsers(value) : value);
  }
  return chosen;
}

/** A whole configuration file: what was chosen, and everything else as a comment with its default. */
export function writtenConfig(chosen: ChosenSettings): string {
  const lines = [
    '# Configuration of Holdfast. A setting that begins with # has its default. `holdfast config` shows what is in force.',
    '# Passwords and tokens stay out of this file: each comes from an environment variable, or from the file of <variable>_FILE.',
  ];
  for (const [section, names] of sections()) lines.push('', ...linesOf(section, names, chosen));
  return `${lines.join('\n')}\n`;
}

/** Settings by the first part of their keys; null: a key of one part. */
function sections(): Map<string | null, SettingName[]> {
  const found = new Map<string | null, SettingName[]>([[null, []]]);
  for (const name of SETTING_NAMES) {
    const [first = '', second] = SETTINGS[name].key.split('.');
    const section = second === undefined ? null : first;
    found.set(section, [...(found.get(section) ?? []), name]);
  }
  return found;
}

function linesOf(section: string | null, names: readonly SettingName[], chosen: ChosenSettings): string[] {
  const indent = section === null ? '' : '  ';
  const lines = names.flatMap((name) => {
    const setting = SETTINGS[name];
    const { env } = setting;
    if (setting.secret === true) return [`${indent}# ${setting.says} In ${env} or ${env}_FILE.`];
    const where = setting.secret === 'address' ? ` With a password in it: in ${env} or ${env}_FILE.` : '';
    const says = `${indent}# ${setting.says}${where}`;
    const key = setting.key.split('.').at(-1) ?? '';
    const isChosen = chosen.has(name);
    const value = stringify(isChosen ? chosen.get(name) : setting.fallback).trim();
    return [says, `${indent}${isChosen ? '' : '#'}${key}: ${value}`];
  });
  if (section === null) return lines;
  // A section without a key is no configuration.
  if (names.every((name) => SETTINGS[name].secret === true)) return lines;
  return [names.some((name) => chosen.has(name)) ? `${section}:` : `#${section}:`, ...lines];
}

function withoutUsers(value: string): string {
  return nodeUrls(value)
    .map((one) => {
      const [, kind = '', address = one] = /^(peer=)?(.*)$/s.exec(one) ?? [];
      if (!URL.canParse(address)) return one;
      const { protocol, host, pathname } = new URL(address);
      return `${kind}${protocol}//${host}${pathname === '/' ? '' : pathname}`;
    })
    .join(' ');
}
