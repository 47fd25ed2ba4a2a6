import { expect, test } from 'vitest';
import { type Reloadable, reloader } from '../../src/cli/reload.ts';
import { loadConfig, type SettingValues } from '../../src/config/index.ts';
import { createLogger, LevelSwitch } from '../../src/core/observability/logger.ts';
import { temporaryFolder } from '../temporary-folder.ts';

function configured(secret: string) {
  const env = { HOLDFAST_S3_ACCESS_KEY_ID: 'key', HOLDFAST_S3_SECRET_ACCESS_KEY: secret };
  return loadConfig({ env, flags: {}, file: undefined, cwd: temporaryFolder() });
}

test('a reload that is asked for during the start takes effect, and is told, once everything runs', async () => {
  const before = configured('at the start');
  let now = before;
  const lines: string[] = [];
  const applied: SettingValues[] = [];
  const { promise: running, resolve: isRunning } = Promise.withResolvers<Reloadable>();
  const levels = new LevelSwitch('info');
  const log = createLogger(levels, { write: (line) => void lines.push(line) });
  const reload = reloader(before, () => now, levels, log, running);
  now = configured('during the start');
  const reloaded = reload();
  await new Promise((resolve) => setImmediate(resolve));
  expect(lines).toEqual([]);
  isRunning({
    reload: async (settings) => {
      applied.push(settings);
      return [];
    },
  });
  await reloaded;
  expect(applied.map(({ s3SecretAccessKey }) => s3SecretAccessKey)).toEqual(['during the start']);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ taken: ['s3.secretAccessKey'] }]);
});
