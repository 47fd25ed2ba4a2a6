import { type Config, SETTING_NAMES, SETTINGS, type SettingName, type SettingValues } from '../config/index.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { LevelSwitch, Logger } from '../core/observability/logger.ts';

/** Replaced while everything runs, where there was one and is one: with what node and buckets are asked. */
const SECRETS: readonly SettingName[] = ['nodeUser', 'nodePassword', 's3AccessKeyId', 's3SecretAccessKey'];

export interface Reloadable {
  /** Puts secrets and tokens in place, also those in files; gives what is another. Where it throws, all stays as it was. */
  reload(settings: SettingValues): Promise<readonly string[]>;
}

/**
 * Compares what is configured now with what was, takes over what it can, and says what it did: everything else waits for
 * a restart. `running` resolves after the start, and what is asked before is done then. Never throws.
 */
export function reloader(
  before: Config,
  reread: () => Config,
  levels: LevelSwitch,
  log: Logger,
  running: Promise<Reloadable>,
): () => Promise<void> {
  let known = before.values;
  const reload = async () => {
    const started = await running;
    try {
      const { values } = reread();
      const changed = SETTING_NAMES.filter((name) => JSON.stringify(values[name]) !== JSON.stringify(known[name]));
      const taken = changed.filter(
        (name) => name === 'logLevel' || (SECRETS.includes(name) && known[name] !== null && values[name] !== null),
      );
      const next = { ...known, ...Object.fromEntries(taken.map((name) => [name, values[name]])) };
      const replaced = await started.reload(next);
      if (taken.includes('logLevel')) levels.set(next.logLevel);
      known = next;
      const keyOf = (name: SettingName) => SETTINGS[name].key;
      const waiting = changed.filter((name) => !taken.includes(name)).map(keyOf);
      log.info({ taken: taken.map(keyOf), replaced, waiting }, 'configuration read again');
      if (waiting.length > 0) log.warn({ waiting }, 'these changes wait for a restart');
    } catch (error) {
      log.error({ error }, `the configuration is wrong, and stays as it was: ${messageOf(error)}`);
    }
  };
  // One after the other: what was read later counts.
  let last = Promise.resolve();
  return () => {
    last = last.then(reload);
    return last;
  };
}
