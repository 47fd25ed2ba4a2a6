import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { weighOutsideMemory } from '../../src/cli/outside-memory.ts';

const MODULE = fileURLToPath(new URL('../../src/cli/outside-memory.ts', import.meta.url));

test('this Node knows the flag: nothing is said of it', () => {
  const script = `import { weighOutsideMemory } from ${JSON.stringify(MODULE)}; process.stdout.write(String(weighOutsideMemory(0)));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  expect(said).toBe(String(Number(process.versions.node.split('.')[0]) >= 26));
});

test('a container of little memory keeps V8’s own way', () => {
  expect(weighOutsideMemory(256 * 1_048_576)).toBe(false);
});
