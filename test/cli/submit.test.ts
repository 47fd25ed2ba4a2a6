import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createDevnode } from '../../src/devnode/index.ts';
import type { Dialect } from '../../src/node/index.ts';
import { fakeSource } from '../reader/fake-source.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { cli } from './cli-in-process.ts';

const QUARTER_HOUR_MS = 900_000;

/** A node that mines nothing by itself, and a clock that is a quarter of an hour further at each look. */
async function scene(dialect: Dialect = 'syscoin-5') {
  const devnode = await createDevnode({ seed: 'cli submit', dialect });
  onTestFinished(() => devnode.close());
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'blob'), sampleBytes('awaited in vain', 300));
  const { username, password, url } = devnode;
  const env = { HOLDFAST_NODE_URL: url.replace('//', `//${username}:${password}@`) };
  let nowMs = 0;
  const clock = vi.spyOn(SYSTEM_CLOCK, 'steadyMs').mockImplementation(() => (nowMs += QUARTER_HOUR_MS));
  onTestFinished(() => clock.mockRestore());
  return { devnode, submit: (...words: string[]) => cli(['submit', 'blob', ...words], env, folder) };
}

test('a ChainLock that does not come ends `submit` with 1: it names what was submitted, and how to wait on', async () => {
  const { devnode, submit } = await scene();
  const { code, stdout, stderr } = await submit('--wait', 'chain-locked', '--wait-timeout', '600', '--json');
  const reached = JSON.parse(stdout) as { stage: string; until: string; versionHash: string; txid: string };
  expect([code, reached.until]).toEqual([1, 'chain-locked']);
  expect(stderr).toContain(`Blob ${reached.versionHash} was submitted (transaction ${reached.txid}).`);
  expect(stderr).toMatch(/not chain-locked within 600 s\.\n {2}To wait on, .*--keep-existing/);
  // Waiting on makes no second transaction.
  devnode.mine(1);
  const again = await submit('--wait', 'mined', '--wait-timeout', '600', '--keep-existing', '--json');
  expect([again.code, JSON.parse(again.stdout)]).toMatchObject([0, { stage: 'mined', txid: null }]);
});

test('receipts have what the stage left of the limit, and the end says that the blob is submitted', async () => {
  const { submit } = await scene();
  const { url } = await fakeSource(() => undefined);
  const words = ['--wait', 'sent', '--wait-timeout', '600', '--receipt', '1', '--archive', url];
  const { code, stdout } = await submit(...words);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^sent: /);
  expect(stdout).toMatch(
    /NOT ENOUGH: 0 receipts of 1 came in time\. The blob is submitted all the same\. .*--keep-existing/,
  );
});

test('a stage that the node cannot show ends `submit` with 1 at once, and names what was submitted', async () => {
  const { submit } = await scene('svc');
  expect((await submit('--wait', 'listed')).code).toBe(0);
  const words = ['--wait', 'mined', '--wait-timeout', '999999', '--keep-existing', '--json'];
  const { code, stdout, stderr } = await submit(...words);
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { stage: 'listed', until: 'mined', txid: null }]);
  expect(stderr).toContain('It is listed. Whether it is mined cannot be seen:');
});

test('a node that refuses a call after the submission leaves `--json` with what was submitted', async () => {
  const { devnode, submit } = await scene();
  const { url } = await fakeSource(() => undefined);
  devnode.faults.add({ fault: { kind: 'unauthorized' }, methods: ['getblockhash'] });
  const { code, stdout } = await submit('--wait', 'sent', '--receipt', '1', '--archive', url, '--json');
  const txid: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { stage: 'sent', txid }]);
});

test.each(['0', '1.5', 'soon', '1000000'])(
  'a limit of %s seconds is refused before anything is sent',
  async (limit) => {
    const { code, stdout, stderr } = await cli(['submit', 'blob', '--wait-timeout', limit]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--wait-timeout takes seconds, from 1 to 999,999.');
  },
);
