import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { Notifier } from '../../src/core/notifier.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

const TIMES_FASTER = 200;

/** A clock of schedules and pauses that runs faster. */
function fastTime() {
  const [wallMs, begunMs] = [Date.now(), performance.now()];
  return {
    clock: { ...SYSTEM_CLOCK, wallMs: () => Math.floor(wallMs + (performance.now() - begunMs) * TIMES_FASTER) },
    random: () => 0,
    wait: (ms: number, signal: AbortSignal) => new Notifier().wait(ms / TIMES_FASTER, signal),
  };
}

/** Takes alerts, and keeps them in the order in which they come. */
async function receiver() {
  const got: { event: string; code: string | null; replaces: string | null; message: string }[] = [];
  const server = createServer(async (request, response) => {
    got.push(JSON.parse(await text(request)));
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('It has no port.');
  return { url: `http://127.0.0.1:${address.port}/`, got };
}

function recorded(scene: Scene): unknown[] {
  const database = new Database(join(scene.dataDir, 'catalog.sqlite'), { readonly: true });
  try {
    return database.prepare("SELECT value ->> 'code' FROM fact WHERE name LIKE 'alert/%'").pluck().all();
  } finally {
    database.close();
  }
}

test('a daemon tells the named receiver of danger once, of what it became while the daemon stood still, and once a day', async () => {
  const { url, got } = await receiver();
  const scene = await Scene.create({
    node: { chainLocks: { kind: 'none' } },
    env: { HOLDFAST_ALERT_URL: url, HOLDFAST_ALERT_SECRET: 'secret-of-the-hook' },
  });
  const never = { HOLDFAST_ALERT_DIGEST_SCHEDULE: '0 0 29 2 *' };
  await scene.start(never, { scheduleTime: fastTime() });
  scene.mine(12);
  await scene.caughtUp();
  const blob = scene.submit();
  scene.node.advanceSeconds(150);
  scene.node.mine(1, { withoutBytes: true });
  await scene.until('walked', async () => (await scene.record(blob.versionHash))?.hashType != null);
  scene.mine(Math.round(3.4 * HOUR_BLOCKS));
  const ofDanger = () =>
    got.filter(({ code }) => code?.startsWith('chain/at-risk')).map(({ event, code }) => `${event} ${code}`);
  // Alerts that were received and not recorded are told again: better twice than never.
  await scene.until('told, and recorded', () => recorded(scene).includes('chain/at-risk-50'));
  expect(ofDanger()).toEqual(['raised chain/at-risk-50']);
  await scene.stop();

  await scene.start(never, { scheduleTime: fastTime() });
  await scene.until('raised again', () => scene.conditions().includes('chain/at-risk-50'));
  scene.mine(Math.round(1.5 * HOUR_BLOCKS));
  await scene.until('told that it is worse', () => ofDanger().length > 1);
  expect(ofDanger()).toEqual(['raised chain/at-risk-50', 'worsened chain/at-risk-75']);
  await scene.stop();

  await scene.start({ HOLDFAST_ALERT_DIGEST_SCHEDULE: '* * * * *' }, { scheduleTime: fastTime() });
  // The first ones may come before the node has answered since the start: what is at risk cannot be told then.
  const digest = /\d+ blobs stored, .* at risk, 0 lost/;
  await scene.until('the digest', () => got.some(({ event, message }) => event === 'digest' && digest.test(message)));
  expect(scene.log.join('')).not.toContain('secret-of-the-hook');
});
