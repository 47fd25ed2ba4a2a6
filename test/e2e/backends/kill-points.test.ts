import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { LyingServer } from './lying-server.ts';
import { expectAll, publish, untilDrained } from './real-backends.ts';

const SCRIPT = fileURLToPath(new URL('killed-daemon.ts', import.meta.url));
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

test.each(POINTS.flatMap((point) => callsOf(point).map((call) => ({ point, call }))))(
  'kill -9 $point (call $call): nothing is lost, nothing is claimed that is not so',
  { retry: 0 },
  async ({ point, call }) => {
    const [server, node] = await Promise.all([LyingServer.start(), startNode()]);
    const published = publish(node, `kill ${point} ${call}`, BLOBS);
    const setup = {
      dataDir: temporaryFolder(),
      node,
      env: {
        HOLDFAST_S3_ENDPOINT: server.endpoint,
        HOLDFAST_S3_BUCKET: 'bucket',
        HOLDFAST_S3_ACCESS_KEY_ID: 'key',
        HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
        HOLDFAST_LOCAL_MODE: 'cache',
      },
    };
    const env = { ...process.env, ...environmentOf(setup) };
    const child = spawn(process.execPath, [SCRIPT, point, String(call)], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    // Claims of this moment are true: the node, who could bring it back, is not asked.
    const checked = await holdfastHere(['check', '--read-data'], { env: environmentOf(setup) });
    expect(checked, `${checked.stdout}${checked.stderr}`).toMatchObject({ code: 0 });
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, BLOBS);
    await untilDrained(daemon, ['s3']);
    await expectAll(daemon, published);
    expect(await daemon.client.status()).toMatchObject({ content: { stored: BLOBS, seen: 0, failing: 0 } });
  },
);
