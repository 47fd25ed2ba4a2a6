import { type Config, type Origin, withoutCredentials } from './load-config.ts';
import type { Setting } from './setting.ts';
import { SETTING_NAMES, SETTINGS } from './settings.ts';

export interface ShownSetting {
  readonly key: string;
  /** Name of the environment variable; null when only the configuration file can hold the setting. */
  readonly env: string | null;
  readonly value: unknown;
  readonly origin: Origin;
}

/** The effective configuration for people and scripts. Secrets are masked, in addresses too. */
export function showConfig(config: Config): ShownSetting[] {
  return SETTING_NAMES.map((name) => {
    const { key, env, secret }: Setting<unknown> = SETTINGS[name];
    const value = config.values[name];
    const shown = secret === true && value !== null ? '***' : showInside(value);
    return { key, env, value: shown, origin: config.origins[name] };
  });
}

/** Masks secret fields and passwords of addresses at every depth of a value. */
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
