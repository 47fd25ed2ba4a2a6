import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { CODE, LIMITED } from './reachable-heap.ts';

const SCRIPT = fileURLToPath(new URL('pictured-process.ts', import.meta.url));
/** A tray has a hundred buffers of a kibibyte. */
const TRAY_BYTES = 102_400;

test('a picture of a heap gives each owner what it holds, the world none, and caches with a limit all that is in them', async () => {
  const words = [SCRIPT, join(temporaryFolder(), 'picture')];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  const { world, everything, lent } = JSON.parse(stdout);

  expect(world['Tray.#slots']).toMatchObject({ bufferBytes: TRAY_BYTES });
  expect(world['Tray.#slots'].heapBytes).toBeGreaterThan(100 * 16);
  expect(everything['Tray.#slots']).toMatchObject({ bufferBytes: 2 * TRAY_BYTES });
  expect(world[CODE].heapBytes).toBeGreaterThan(100_000);
  expect(lent['Tray.#slots']).toMatchObject({ bufferBytes: 2 * TRAY_BYTES });
  expect(lent[LIMITED].bufferBytes - everything[LIMITED].bufferBytes).toBe(10 * TRAY_BYTES);
});
