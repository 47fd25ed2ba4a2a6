import { messageOf } from '../blob/errors.ts';
import { type Config, SETTING_NAMES, SETTINGS, type SettingName } from '../config/index.ts';
import type { LevelSwitch, Logger } from '../observability/logger.ts';

/** What is taken over while everything runs. Everything else says so, and waits for a restart. */
const TAKEN_OVER: readonly SettingName[] = ['logLevel'];

/** Compares what is configured now with what was, takes over what it can, and says what it did. Never throws. */
export function reloader(before: Config, reread: () => Config, levels: LevelSwitch, log: Logger): () => void {
  let known = before.values;
  return () => {
    try {
      const { values } = reread();
      const changed = SETTING_NAMES.filter((name) => JSON.stringify(values[name]) !== JSON.stringify(known[name]));
      levels.set(values.logLevel);
      const keyOf = (name: SettingName) => SETTINGS[name].key;
      const waiting = changed.filter((name) => !TAKEN_OVER.includes(name)).map(keyOf);
      log.info(
        { taken: changed.filter((name) => TAKEN_OVER.includes(name)).map(keyOf), waiting },
        'configuration read again',
      );
      if (waiting.length > 0) log.warn({ waiting }, 'these changes wait for a restart');
      known = { ...known, logLevel: values.logLevel };
    } catch (error) {
      log.error({ error }, `the configuration is wrong, and stays as it was: ${messageOf(error)}`);
    }
  };
}
