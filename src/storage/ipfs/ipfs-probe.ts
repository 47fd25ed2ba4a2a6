import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { blobCid } from '../../core/blob/cid.ts';
import { codeOf } from '../../core/blob/errors.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { type ContentName, type HashType, parseVersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { hashWith, nobleHasher } from '../../verify/hasher.ts';
import { fault, good, type ProbeFinding, Probing, warning } from '../probe.ts';
import type { KuboApi } from './kubo-api.ts';

/** Free space below which the operator gets a warning. */
const LOW_SPACE_BYTES = 10 * 2 ** 30;

/** Looks at a Kubo as an archiver will use it: the largest block, read back offline, a miss, and how durable it is. */
export async function probeIpfs(kubo: KuboApi, signal: AbortSignal): Promise<readonly ProbeFinding[]> {
  const probing = new Probing(signal);
  const { findings } = probing;
  const isReached = await probing.look('reachable', () => reachable(kubo, signal));
  if (!isReached) return findings;
  await probing.look('large-block', () => holds(kubo, 'large-block', 'keccak256', MAX_BLOB_BYTES, signal));
  await probing.look('blake2s-block', () => holds(kubo, 'blake2s-block', 'blake2s256', 1_024, signal));
  await probing.look('missing-block', () => missingBlock(kubo, signal));
  await probing.look('durable', () => durable(kubo, signal));
  await probing.look('space', () => space(kubo, signal));
  return findings;
}

async function reachable(kubo: KuboApi, signal: AbortSignal): Promise<ProbeFinding> {
  try {
    return good('reachable', `Kubo ${await kubo.version(signal)} answers at ${kubo.where}.`);
  } catch (error) {
    if (codeOf(error) !== 'storage/not-kubo' || !(await kubo.isGateway(signal).catch(() => false))) throw error;
    return fault(
      'reachable',
      `The ${kubo.id} store at ${kubo.where} is the gateway of an IPFS node, which only reads.`,
      'Give the address of its RPC API instead: Addresses.API, port 5001 as it comes.',
    );
  }
}

/** Puts a random block without pinning it, reads it back offline, and takes it away again. */
async function holds(
  kubo: KuboApi,
  check: string,
  hashType: HashType,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<ProbeFinding> {
  const bytes = randomBytes(sizeBytes);
  const cid = blobCid(nameOf(hashType, bytes));
  const answered = await kubo.put(hashType, bytes, false, signal);
  try {
    const back = answered.equals(cid) ? await kubo.get(cid, sizeBytes + 1, signal) : null;
    if (back !== null && Buffer.compare(back, bytes) === 0) {
      return good(check, `A block of ${sizeBytes} bytes under its ${hashType} CID is taken and read back.`);
    }
    return fault(
      check,
      `The ${kubo.id} store at ${kubo.where} does not give back the block that it has just acknowledged.`,
      'Nothing may be counted as stored there: look at that Kubo, its disk, and any proxy in front of it.',
    );
  } finally {
    await kubo.remove(answered, signal);
  }
}

async function missingBlock(kubo: KuboApi, signal: AbortSignal): Promise<ProbeFinding> {
  const absent = blobCid({ hashType: 'keccak256', versionHash: parseVersionHash(randomBytes(32).toString('hex')) });
  const [size, bytes] = await Promise.all([kubo.size(absent, signal), kubo.get(absent, 1, signal)]);
  if (size === null && bytes === null) return good('missing-block', 'A missing block is answered as missing.');
  return fault(
    'missing-block',
    `The ${kubo.id} store shows a block under a name that was never written.`,
    'Check that nothing else answers in its place.',
  );
}

const spec = z.looseObject({ type: z.string(), sync: z.boolean().optional(), path: z.string().optional() });
const mounts = z.object({ mounts: z.array(z.unknown()) });
const child = z.object({ child: z.unknown() });

/**
 * Kubo's usual datastore for blocks (flatfs) acknowledges before the disk has them unless `sync` is true, and `ipfs init`
 * writes false: https://github.com/ipfs/kubo/blob/v0.42.0/docs/datastores.md
 */
async function durable(kubo: KuboApi, signal: AbortSignal): Promise<ProbeFinding> {
  if (!(await specs(await kubo.datastoreSpec(signal))).some(({ type, sync }) => type === 'flatfs' && sync !== true)) {
    return good('durable', 'Its datastore is not known to acknowledge blocks before they are on the disk.');
  }
  return warning(
    'durable',
    `The ${kubo.id} store acknowledges blocks before they are on its disk (flatfs without sync): power loss takes some.`,
    'Set "sync": true for flatfs in Datastore.Spec of its config file and restart it; it costs speed, no conversion.',
  );
}

function specs(given: unknown): z.infer<typeof spec>[] {
  const own = spec.safeParse(given);
  const mounted = mounts.safeParse(given);
  const wrapped = child.safeParse(given);
  return [
    ...(own.success ? [own.data] : []),
    ...(mounted.success ? mounted.data.mounts.flatMap(specs) : []),
    ...(wrapped.success && wrapped.data.child !== undefined ? specs(wrapped.data.child) : []),
  ];
}

async function space(kubo: KuboApi, signal: AbortSignal): Promise<ProbeFinding> {
  const freeBytes = await kubo.freeDiskBytes(signal);
  const gibibytes = (freeBytes / 2 ** 30).toFixed(1);
  if (freeBytes >= LOW_SPACE_BYTES) return good('space', `Its disk has ${gibibytes} GiB left.`);
  return warning(
    'space',
    `The disk of the ${kubo.id} store has ${gibibytes} GiB left.`,
    'Give the repository of that Kubo more space before it refuses blocks.',
  );
}

function nameOf(hashType: HashType, bytes: Uint8Array): ContentName {
  return { hashType, versionHash: parseVersionHash(encodeHex(hashWith(nobleHasher, hashType, bytes))) };
}
