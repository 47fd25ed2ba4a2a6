import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';

const counted = z.object({ stored: z.number(), wakeUpsPerMinute: z.number() });

/** 751 before each loop slept until something is due. */
const MAX_WAKE_UPS = 60;

test('an archive that has nothing to do sleeps, whatever each of its loops waits for', () => {
  const script = fileURLToPath(new URL('idle.ts', import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { stored, wakeUpsPerMinute } = counted.parse(JSON.parse(stdout));
  expect(stored).toBe(20);
  expect(wakeUpsPerMinute).toBeLessThan(MAX_WAKE_UPS);
});
