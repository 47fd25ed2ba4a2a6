import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { runCommand } from '../servers/command.ts';
import { describeWithPip, FETCH_MS, pythonPackage } from '../servers/python-package.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeAttestations } from './fake-attestations.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeInventory } from './fake-inventory.ts';
import { FakeReceipts } from './fake-receipts.ts';
import { FakeWindowView, windowBlob, windowBlock } from './fake-window-view.ts';
import { running } from './harness.ts';

const EXCEPTIONS = fileURLToPath(new URL('./schemathesis.toml', import.meta.url));
/**
 * For each operation, besides 700 cases for all of them together, which try each bound and each keyword of a schema once. A
 * case takes 20 ms of a processor here and 2 ms in `fuzz-described.test.ts`. That file holds the other thousands of CI's
 * cases against the same description. HOLDFAST_SCHEMATHESIS_EXAMPLES=340 makes all 10,000 here.
 */
const EXAMPLES = Number(process.env['HOLDFAST_SCHEMATHESIS_EXAMPLES'] ?? 10);
/** The fewest cases; further seeds follow a run that makes fewer. */
const MIN_CASES = EXAMPLES >= 300 ? 10_000 : 800;
const RUN_MS = 2_400_000;

async function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  view.keepCustom('ab'.repeat(32), 'cd'.repeat(32));
  chain.mine(view.add(blobOf(bytesOf(300))), 5);
  const window = new FakeWindowView();
  window.show([windowBlock(7, [windowBlob(1, 'custom')], true)]);
  const given = {
    window,
    inventory: new FakeInventory(),
    attestations: new FakeAttestations(),
    receipts: new FakeReceipts(),
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
      const casesOf = async (words: readonly string[]): Promise<number> => {
        const run = [
          join(folder, 'bin/schemathesis'),
          `--config-file=${EXCEPTIONS}`,
          'run',
          `${url}/openapi.json`,
          '--checks=all',
          `--max-examples=${EXAMPLES}`,
          // Events have no end.
          '--exclude-path=/v1/events',
          '--continue-on-failure',
          '--no-color',
          ...words,
        ];
        const env = { PYTHONPATH: folder };
        const { code, stdout, stderr } = await runCommand('python3', run, { env, cwd: temporaryFolder() });
        expect({ code, found: code === 0 ? '' : `${stdout}${stderr}`.slice(-8_000) }).toEqual({ code: 0, found: '' });
        const cases = Number(/(\d[\d,]*) generated/.exec(stdout)?.[1]?.replaceAll(',', ''));
        expect(cases).toBeGreaterThan(0);
        return cases;
      };
      let cases = await casesOf(['--phases=examples,coverage,fuzzing', '--generation-deterministic']);
      for (let seed = 1; cases < MIN_CASES; seed += 1) {
        cases += await casesOf(['--phases=fuzzing', `--seed=${seed}`]);
      }
      process.stderr.write(`schemathesis: ${cases} cases\n`);
      expect(reported).toEqual([]);
    },
    FETCH_MS + RUN_MS,
  );
});
