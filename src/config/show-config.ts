import { type Config, type Origin, withoutCredentials } from './load-config.ts';
import { SETTING_NAMES, SETTINGS } from './settings.ts';

export interface ShownSetting {
  readonly key: string;
  readonly env: string;
  readonly value: unknown;
  readonly origin: Origin;
}

/** The effective configuration for people and scripts: secrets masked, also those inside of addresses. */
export function showConfig(config: Config): ShownSetting[] {
  return SETTING_NAMES.map((name) => {
    const { key, env, secret } = SETTINGS[name];
    const value = config.values[name];
    return {
      key,
      env,
      value: secret && value !== null ? '***' : withoutCredentials(value),
      origin: config.origins[name],
    };
  });
}
