import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseVersionHash } from '../../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../../src/core/time/clock.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER } from '../../sample-blobs.ts';
import { Scene, type SceneBlob } from '../../scenario/archive-on-devnode.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { damage } from '../../storage/s3/s3-fixture.ts';
import { eventually } from '../eventually.ts';
import { s3Environment } from './real-backends.ts';

const BLOBS = 6;
/** A minute of the schedule's clock goes by in a second. */
const TIMES_FASTER = 60;
/** The first minute of a year. */
const RARELY = '0 0 1 1 *';

/** A clock that begins with that of this machine, and goes faster. */
function fastTime() {
  const [wallMs, begunMs] = [Date.now(), performance.now()];
  return {
    clock: { ...SYSTEM_CLOCK, wallMs: () => Math.floor(wallMs + (performance.now() - begunMs) * TIMES_FASTER) },
    random: () => 0,
    wait: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms / TIMES_FASTER);
        const stop = () => {
          clearTimeout(timer);
          resolve();
        };
        signal.addEventListener('abort', stop, { once: true });
      }),
  };
}

const nameOf = ({ hashType, versionHash }: SceneBlob) => ({ hashType, versionHash: parseVersionHash(versionHash) });

describeWithServers('the scrub at its times, by a daemon as it is assembled', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => s3.stop());

  test('finds what has rotted and what is gone, without anybody asking, and brings it back', async () => {
    const { options, env } = await s3Environment(s3);
    const scene = await Scene.create({
      // The canary does not come in these hours: it would report the damage that a scrub reports at the same moment.
      env: { ...env, HOLDFAST_SCRUB_DAYS: '1', HOLDFAST_START_HEIGHT: '1', HOLDFAST_CANARY_SCHEDULE: RARELY },
      time: 'real',
    });
    // The hour of the scrub does not come: no scrub has seen the new damage yet.
    await scene.start({ HOLDFAST_SCRUB_SCHEDULE: RARELY });
    scene.mine(1, BLOBS);
    await scene.caughtUp();
    const [rotten, gone] = scene.blobs;
    if (rotten === undefined || gone === undefined) throw new Error('Blobs were submitted.');
    await damage(
      s3,
      options.bucket,
      `blobs/${rotten.hashType}/${rotten.versionHash}`,
      Buffer.alloc(rotten.bytes.length, 7),
    );
    const store = await S3Store.open(options);
    await store.delete(nameOf(gone), NEVER);
    expect(scene.archive.status().content.stored).toBe(BLOBS);
    await scene.stop();

    await scene.start({ HOLDFAST_SCRUB_SCHEDULE: '* * * * *' }, { scheduleTime: fastTime() });
    await eventually(() => {
      const { conditions } = scene.archive.status();
      const bucket = scene.archive.figures.read().backends.find(({ id }) => id === 's3');
      expect({ bucket, conditions }).toMatchObject({ bucket: { damagedFound: 2, healed: 2, damaged: 0 } });
    });
    for (const blob of [rotten, gone]) {
      const found = await store.get(nameOf(blob), NEVER);
      expect(Buffer.from(found ?? []).equals(blob.bytes)).toBe(true);
    }
    // The operator was told while it was so, and is told no more.
    expect(scene.log.filter((line) => line.includes('archive/damaged-copy'))).not.toEqual([]);
    await eventually(() =>
      expect(scene.archive.status().conditions.map(({ code }) => code)).not.toContain('archive/damaged-copy'),
    );
    expect(scene.archive.status().content.stored).toBe(BLOBS);
    await store.close();
  });
});
