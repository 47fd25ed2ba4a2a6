import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

/** Loads an entry in a process that says it is Node 20.20.2; it fails before it comes to what Node 20 lacks. */
function importedOnNode20(entry: string) {
  const older = `data:text/javascript,${encodeURIComponent("Object.defineProperty(process.versions,'node',{value:'20.20.2'})")}`;
  const file = new URL(`../../src/${entry}`, import.meta.url).href;
  return spawnSync(process.execPath, ['--import', older, '--input-type=module', '-e', `await import('${file}')`], {
    encoding: 'utf8',
  });
}

test.each(['client.ts', 'devnode/index.ts'])('%s says on an older Node which one it needs', (entry) => {
  const { status, stderr } = importedOnNode20(entry);
  expect(status).not.toBe(0);
  expect(stderr).toContain('This is Node 20.20.2, and holdfast needs Node 24 or newer.');
  expect(stderr).not.toContain('TypeError');
});

test('the oldest Node is that of the package', () => {
  const { engines } = z
    .object({ engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')));
  expect(engines.node).toBe('>=24');
});
