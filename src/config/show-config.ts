import { type Config, type Origin, withoutCredentials } from './load-config.ts';
import type { Setting } from './setting.ts';
import { SETTING_NAMES, SETTINGS } from './settings.ts';

export interface ShownSetting {
  readonly key: string;
  /** null: only the configuration file can hold it. */
  readonly env: string | null;
  readonly value: unknown;
  readonly origin: Origin;
}

/** The effective configuration for people and scripts: secrets masked, also those inside of addresses. */
export function showConfig(config: Config): ShownSetting[] {
  return SETTING_NAMES.map((name) => {
    const { key, env, secret }: Setting<unknown> = SETTINGS[name];
    const value = config.values[name];
    const shown = secret === true && value !== null ? '***' : showInside(value);
    return { key, env, value: shown, origin: config.origins[name] };
  });
}

/** Lists and their fields: what is named a secret is masked, and addresses lose their passwords. */
function showInside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(showInside);
  if (typeof value !== 'object' || value === null) return withoutCredentials(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isSecret(key, inner) ? '***' : showInside(inner)]),
  );
}

function isSecret(key: string, value: unknown): boolean {
  return /secret|token|password/i.test(key) && !key.endsWith('File') && value !== null;
}
