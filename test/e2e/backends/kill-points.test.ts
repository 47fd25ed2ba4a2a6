import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { bundledProgram } from '../../bundled-programs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { LyingServer } from './lying-server.ts';
import { expectAll, publish, untilDrained } from './real-backends.ts';

const SCRIPT = bundledProgram('test/e2e/backends/killed-daemon.ts');
const BLOBS = 8;

const POINTS = [
  'before the local put',
  'after the local put',
  'before the commit of spooled',
  'after the commit of spooled',
  'before the put',
  'after the put',
  'before the read-back',
  'after the read-back',
  'before the commit of stored',
  'after the commit of stored',
];

/** Commits are made in groups: all blobs can share the first. */
const callsOf = (point: string) => (point.includes('commit') ? [1] : [1, 2]);

// Sixteen processes start and are killed, and as many checks run: a starved machine takes many minutes.
// One data folder and one bucket: each life begins with what the kill before it left, and the last one brings all of it.
test('kill -9 at each point of the way, at its first and its second call: nothing is lost, nothing is claimed that is not so', {
  timeout: 900_000,
}, async () => {
  const [server, node] = await Promise.all([LyingServer.start(), startNode()]);
  const setup = {
    dataDir: temporaryFolder(),
    node,
    env: {
      HOLDFAST_S3_ENDPOINT: server.endpoint,
      HOLDFAST_S3_BUCKET: 'bucket',
      HOLDFAST_S3_ACCESS_KEY_ID: 'key',
      HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
      HOLDFAST_LOCAL_MODE: 'cache',
      // Records of what is final come after the blobs, and are no part of this.
      HOLDFAST_FINALITY: 'depth:1000',
    },
  };
  const env = environmentOf(setup);
  const published = publish(node, 'before any kill', BLOBS);
  const first = await startArchiveHere(setup);
  await untilStored(first, BLOBS);
  await stop(first);
  for (const point of POINTS) {
    for (const call of callsOf(point)) {
      const at = `${point}, call ${call}`;
      published.push(...publish(node, at, BLOBS));
      const child = spawn(process.execPath, [SCRIPT, point, String(call)], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      onTestFinished(() => {
        child.kill('SIGKILL');
      });
      expect(await once(child, 'exit'), at).toEqual([null, 'SIGKILL']);
      // Claims of this moment are true: the node, who could bring it back, is not asked.
      const checked = await holdfastHere(['check', '--read-data'], { env });
      expect(checked, `${at}: ${checked.stdout}${checked.stderr}`).toMatchObject({ code: 0 });
    }
  }
  const daemon = await startArchiveHere(setup);
  await untilStored(daemon, published.length);
  await untilDrained(daemon, ['s3']);
  await expectAll(daemon, published);
  expect(await daemon.client.status()).toMatchObject({ content: { stored: published.length, seen: 0, failing: 0 } });
});
