import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { runCommand } from '../servers/command.ts';
import { describeWithPip, FETCH_MS, pythonPackage } from '../servers/python-package.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeInventory } from './fake-inventory.ts';
import { FakeWindowView, windowBlob, windowBlock } from './fake-window-view.ts';
import { running } from './harness.ts';

const EXCEPTIONS = fileURLToPath(new URL('./schemathesis.toml', import.meta.url));
/** For each operation, besides 500 cases for all of them together; HOLDFAST_SCHEMATHESIS_EXAMPLES=600 for the long run. */
const EXAMPLES = Number(process.env['HOLDFAST_SCHEMATHESIS_EXAMPLES'] ?? 10);
const LEAST_CASES = 800;
const RUN_MS = 900_000;

async function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  chain.mine(view.add(blobOf(bytesOf(300))), 5);
  const window = new FakeWindowView();
  window.show([windowBlock(7, [windowBlob(1, 'custom')], true)]);
  const given = {
    window,
    custom: { read: async () => ({ kind: 'found' as const, bytes: bytesOf(9) }) },
    inventory: new FakeInventory(),
    page: { files: async () => new Map([['index.html', Buffer.from('<!doctype html>')]]) },
    metrics: declareHttpMetrics(new MetricsRegistry()),
  };
  return await running(view, { ratePerSecond: 0, concurrentPerClient: 0 }, chain, given);
}

describeWithPip('schemathesis', () => {
  test(
    'finds no answer that the description does not allow',
    async () => {
      const folder = await pythonPackage('schemathesis');
      const { url, reported } = await archive();
      const run = [
        join(folder, 'bin/schemathesis'),
        `--config-file=${EXCEPTIONS}`,
        'run',
        `${url}/openapi.json`,
        '--checks=all',
        '--phases=examples,coverage,fuzzing',
        `--max-examples=${EXAMPLES}`,
        '--generation-deterministic',
        // Events have no end.
        '--exclude-path=/v1/events',
        '--continue-on-failure',
        '--no-color',
      ];
      const env = { PYTHONPATH: folder };
      const { code, stdout, stderr } = await runCommand('python3', run, { env, cwd: temporaryFolder() });
      expect({ code, found: code === 0 ? '' : `${stdout}${stderr}`.slice(-8_000) }).toEqual({ code: 0, found: '' });
      expect(Number(/(\d[\d,]*) generated/.exec(stdout)?.[1]?.replaceAll(',', ''))).toBeGreaterThanOrEqual(LEAST_CASES);
      expect(reported).toEqual([]);
    },
    FETCH_MS + RUN_MS,
  );
});
