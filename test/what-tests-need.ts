import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('.', import.meta.url));
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g;

/** Helpers of tests that start something beside the test's own process, and what they start. */
const STARTED_BY: ReadonlyMap<string, string> = new Map([
  ['servers/s3-server.ts', 'an S3 server'],
  ['servers/kubo-server.ts', 'Kubo'],
  ['servers/nginx-server.ts', 'nginx'],
  ['helm/rendered-chart.ts', 'Helm'],
  ['servers/python-package.ts', 'a Python package'],
  ['servers/slow-readers.ts', 'Python'],
  ['servers/docker-engine.ts', 'a Docker engine'],
  ['page/chromium.ts', 'a browser'],
  ['ops/with-command.ts', 'a program of the system'],
  ['e2e/holdfast-process.ts', 'whole processes'],
]);
/** Folders whose tests all start more than themselves, each in its own way. */
const STARTED_IN: readonly (readonly [RegExp, string])[] = [
  [/^e2e\//, 'whole processes'],
  [/^faults\//, 'whole processes, below a library built with a C compiler'],
  [/^image\//, 'a container'],
  [/^package\//, 'npm'],
  [/^simulate\//, 'processes that simulate'],
];

/** Names what a test file starts beside its own process, itself or through a helper; empty when it starts nothing. */
export function startedBy(file: string): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const started = STARTED_BY.get(path);
    if (started !== undefined) {
      found.add(started);
      return;
    }
    for (const [, name = ''] of readFileSync(join(TESTS, path), 'utf8').matchAll(IMPORT)) {
      const imported = relative(TESTS, join(TESTS, dirname(path), name));
      if (!imported.startsWith('..')) visit(imported);
    }
  };
  visit(file);
  for (const [folder, started] of STARTED_IN) if (found.size === 0 && folder.test(file)) found.add(started);
  return [...found];
}

/** Every test file that starts more than itself, from the folder of tests, with what it starts. */
export function filesThatStartMore(): ReadonlyMap<string, readonly string[]> {
  const all = globSync('**/*.test.ts', { cwd: TESTS }).toSorted();
  return new Map(all.map((file) => [file, startedBy(file)] as const).filter(([, started]) => started.length > 0));
}
