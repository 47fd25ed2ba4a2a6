import { expect, onTestFinished, test, vi } from 'vitest';
import { codeOf } from '../../../src/core/blob/errors.ts';
import { s3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { misbehavingServer, s3Error } from '../misbehaving-server.ts';

const DAY_MS = 86_400_000;
const RETAIN_UNTIL = 'x-amz-object-lock-retain-until-date';

/** A server that refuses signatures of another quarter of an hour, as S3 does; our clock is so many days from its own. */
async function scene(oursAheadDays: number) {
  const theirMs = Date.now();
  const { endpoint, asked } = await misbehavingServer(({ method, headers }, response) => {
    response.setHeader('date', new Date(theirMs).toUTCString());
    const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(headers['x-amz-date'])) ?? [];
    const [year, month, day, hour, minute, second] = parts.map(Number);
    const signedMs = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
    if (Math.abs(signedMs - theirMs) > 900_000) return s3Error(response, 403, 'RequestTimeTooSkewed');
    if (method === 'GET') return s3Error(response, 404, 'NoSuchKey');
    response.writeHead(200, { etag: '"e"', 'content-length': 0 });
    return response.end();
  });
  vi.useFakeTimers({ toFake: ['Date'], now: theirMs + oursAheadDays * DAY_MS });
  onTestFinished(() => void vi.useRealTimers());
  const store = await S3Store.open(
    s3Options({
      bucket: 'b',
      endpoint,
      credentials: { accessKeyId: 'k', secretAccessKey: 's' },
      objectLock: { mode: 'COMPLIANCE', days: 30 },
    }),
  );
  onTestFinished(() => store.close());
  const put = (label: string) => store.put(sampleBlob(label, 1_000), 'create', NEVER);
  const retainedDays = () =>
    asked.flatMap(({ headers }) => {
      const until = headers[RETAIN_UNTIL];
      return until === undefined ? [] : [Math.round((Date.parse(String(until)) - theirMs) / DAY_MS)];
    });
  return { put, retainedDays, asked };
}

test.each([0, 5 * 365, 40, -0.5])(
  'a retention is counted on the clock of the server, with ours %d days ahead',
  async (ahead) => {
    const { put, retainedDays } = await scene(ahead);
    await put('first');
    await put('second');
    expect(new Set(retainedDays())).toEqual(new Set([30]));
  },
);

test('a step of our clock between two puts changes no retention', async () => {
  const { put, retainedDays } = await scene(0);
  await put('before the step');
  vi.setSystemTime(Date.now() + 5 * 365 * DAY_MS);
  await put('after the step');
  expect(new Set(retainedDays())).toEqual(new Set([30]));
});

test('nothing is retained by a server whose clock is days ahead: one of the two is wrong, and no retention ends early', async () => {
  const { put, retainedDays } = await scene(-5 * 365);
  expect(codeOf(await put('first').catch((error: unknown) => error))).toBe('storage/clock-skew');
  expect(retainedDays()).toEqual([]);
});
