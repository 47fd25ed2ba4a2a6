import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const WAYS_TO_SKIP = /\.(?:skipIf|runIf|skip|todo)\(/;

test('nothing is skipped but by what fails where the whole suite is promised', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(200);
  const skipping = files.filter((path) => WAYS_TO_SKIP.test(readFileSync(join(FOLDER, path), 'utf8')));
  expect(skipping).toEqual(['promised.ts']);
});
