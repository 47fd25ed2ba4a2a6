import { randomBytes } from 'node:crypto';
import { codeOf } from '../../core/blob/errors.ts';
import { fault, good, type ProbeFinding, Probing, warning } from '../probe.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { NO_LOCK } from './s3-error.ts';

/** S3 refuses a request whose clock is 15 minutes off; the operator gets a warning well before that. */
const CLOCK_WARNING_MS = 120_000;
const PROBE_BYTES = 1_024;
const ABOUT = { contentType: 'application/octet-stream', lock: false } as const;

/** Looks at a bucket as an archiver will use it: list, write, read, overwrite on a condition, miss, delete. */
export async function probeS3(bucket: S3Bucket, signal: AbortSignal): Promise<readonly ProbeFinding[]> {
  const probing = new Probing(signal);
  const { findings } = probing;
  const name = `probe/${randomBytes(8).toString('hex')}`;
  const written = randomBytes(PROBE_BYTES);

  await probing.look('reachable', () => reachable(bucket, signal));
  // Without an answer there is nothing more to learn; a bucket that may not be listed can still be written.
  if (findings.some((finding) => finding.grade === 'fault' && finding.check === 'reachable')) return findings;
  findings.push(clock(bucket));
  await probing.look('missing-key', () => missingKey(bucket, signal));
  if (bucket.options.objectLock !== null) await probing.look('object-lock', () => objectLock(bucket, signal));
  const isWritten = await probing.look('writable', () => writable(bucket, name, written, signal));
  if (!isWritten) return findings;
  await probing.look('readable', () => readable(bucket, name, written, signal));
  await probing.look('conditional-put', () => conditionalPut(bucket, name, written, signal));
  await probing.look('deletable', () => deletable(bucket, name, signal));
  return findings;
}

async function reachable(bucket: S3Bucket, signal: AbortSignal): Promise<ProbeFinding> {
  try {
    await bucket.firstObject(signal);
    return good('reachable', `The ${bucket.id} store at ${bucket.where} answers and can be listed.`);
  } catch (error) {
    if (codeOf(error) !== 'storage/denied') throw error;
    return warning(
      'reachable',
      `The ${bucket.id} store at ${bucket.where} answers, but may not be listed.`,
      'Allow these credentials s3:ListBucket on the bucket: check, scrub and rebuild list it.',
    );
  }
}

function clock(bucket: S3Bucket): ProbeFinding {
  const offsetMs = bucket.clockOffsetMs;
  if (offsetMs === null) return good('clock', `The ${bucket.id} store does not tell its time.`);
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  if (Math.abs(offsetMs) < CLOCK_WARNING_MS) return good('clock', `Its clock and ours are ${seconds} s apart.`);
  return warning(
    'clock',
    `The clock of the ${bucket.id} store is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine's.`,
    'Set the clock (NTP): S3 refuses requests that are more than 15 minutes off.',
  );
}

async function missingKey(bucket: S3Bucket, signal: AbortSignal): Promise<ProbeFinding> {
  try {
    const found = await bucket.get(`probe/${randomBytes(16).toString('hex')}`, PROBE_BYTES, signal);
    if (found === null) return good('missing-key', 'A missing key is answered as missing.');
    return fault(
      'missing-key',
      `The ${bucket.id} store returns an object under a name that was never written.`,
      'Check that no web page or cache answers in its place.',
    );
  } catch (error) {
    if (codeOf(error) !== 'storage/denied') throw error;
    return fault(
      'missing-key',
      `The ${bucket.id} store answers "denied" (403) for a missing key, so that missing and forbidden look the same.`,
      'Allow these credentials s3:ListBucket on the bucket (besides s3:GetObject): only then S3 says 404.',
    );
  }
}

async function objectLock(bucket: S3Bucket, signal: AbortSignal): Promise<ProbeFinding> {
  const hasLock = await bucket.hasObjectLock(signal);
  if (hasLock === true) return good('object-lock', 'It has object lock, and retains what it is told to.');
  if (hasLock === false) return fault('object-lock', `The ${bucket.id} store ${NO_LOCK.says}.`, NO_LOCK.hint);
  return warning(
    'object-lock',
    `The ${bucket.id} store does not say whether this bucket has object lock: the first blob will tell.`,
    'Allow these credentials s3:GetBucketObjectLockConfiguration on the bucket.',
  );
}

async function writable(bucket: S3Bucket, name: string, body: Uint8Array, signal: AbortSignal): Promise<ProbeFinding> {
  await bucket.put(name, body, { ...ABOUT, condition: null }, signal);
  return good('writable', 'It can be written.');
}

async function readable(bucket: S3Bucket, name: string, body: Uint8Array, signal: AbortSignal): Promise<ProbeFinding> {
  const found = await bucket.get(name, PROBE_BYTES + 1, signal);
  if (found !== null && Buffer.compare(found.body, body) === 0)
    return good('readable', 'What is written is read back.');
  const what = found === null ? 'says that it has not got' : 'gives other bytes than';
  return fault(
    'readable',
    `The ${bucket.id} store at ${bucket.where} ${what} what it has just acknowledged.`,
    'Nothing may be counted as stored there: look at that server, its disks and any cache in front of it.',
  );
}

async function conditionalPut(
  bucket: S3Bucket,
  name: string,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<ProbeFinding> {
  const outcome = await bucket.put(name, body, { ...ABOUT, condition: 'absent' }, signal);
  if (outcome === 'condition failed') return good('conditional-put', 'Conditional put (If-None-Match) is honoured.');
  const how = outcome === 'written' ? 'ignores' : 'does not know';
  return warning(
    'conditional-put',
    `The ${bucket.id} store ${how} conditional put (If-None-Match): what is there may be written over by its own copy.`,
    'Nothing is lost by that, for all writers write proven bytes; a newer release of that server may know it.',
  );
}

async function deletable(bucket: S3Bucket, name: string, signal: AbortSignal): Promise<ProbeFinding> {
  try {
    await bucket.delete(name, signal);
    return good('deletable', 'What is written can be deleted again.');
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'storage/denied' && code !== 'storage/locked') throw error;
    return warning(
      'deletable',
      `The ${bucket.id} store does not permit deleting: ${name} of this probe stays.`,
      'That is right for a bucket that only grows; purging withheld blobs needs s3:DeleteObject and no lock.',
    );
  }
}
