import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addressWithCredentials, type BackendSettings, ConfigError, type SettingValues } from '../config/index.ts';
import { clauseOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import type { Backend } from '../replication/backend.ts';
import { boundChain } from '../storage/chain-binding.ts';
import { StorageError } from '../storage/errors.ts';
import { type BackendWatch, watchedStore } from '../storage/metrics.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { S3Bucket } from '../storage/s3/s3-bucket.ts';
import type { S3Credentials, S3Options } from '../storage/s3/s3-options.ts';

type S3BackendSettings = Extract<BackendSettings, { readonly kind: 's3' }>;
type IpfsBackendSettings = Extract<BackendSettings, { readonly kind: 'ipfs' }>;

/** Every backend that is configured: the one of each kind that plain settings name, and the list of more. */
export function backendSettings(settings: SettingValues): BackendSettings[] {
  const named: BackendSettings[] = [];
  if (settings.s3Bucket !== null) named.push({ ...s3FromSettings(settings), bucket: settings.s3Bucket });
  if (settings.ipfsApiUrl !== null) {
    const { ipfsApiUrl: apiUrl, ipfsMaxBlobBytes: maxBlobBytes, ipfsAllowFile: allowFile } = settings;
    named.push({ kind: 'ipfs', id: 'ipfs', maxBlobBytes, allowFile, apiUrl, apiUrlFile: null });
  }
  const all = [...named, ...settings.backends];
  const twice = all.find(({ id }, index) => all.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) {
    throw invalid(`Two backends are named ${twice.id}.`, 'Give each backend of the list an id of its own.');
  }
  return all;
}

/** Places of the configured backends, in the wording of messages, by their public ids. */
export function backendPlaces(
  settings: SettingValues,
): { readonly name: string; readonly addresses: readonly string[] }[] {
  return backendSettings(settings).map((backend) => ({ name: backend.id, addresses: addressesOf(backend) }));
}

function addressesOf(backend: BackendSettings): string[] {
  if (backend.kind === 'ipfs') return backend.apiUrl === null ? [] : [bareAddress(backend.apiUrl)];
  const { endpoint, region, bucket, prefix } = backend;
  const server = endpoint === null ? `s3://${bucket} (AWS ${region})` : `${bareAddress(endpoint)}/${bucket}`;
  const place = prefix === '' ? [] : [`${server}/${prefix}`.replace(/\/$/, '')];
  return [...place, server, ...(endpoint === null ? [] : [bareAddress(endpoint)])];
}

/** The address as messages show it: without credentials or a final slash. */
function bareAddress(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`.replace(/\/+$/, '');
}

/** Access key and secret of a bucket; null: the SDK's own chain finds them. */
export type Keys = S3Credentials | null;

/** Current keys of each backend, by its id. */
export interface LiveKeys {
  keysOf(id: string): Keys;
}

/** @throws ConfigError for half of a pair, and for a secret that cannot be read. */
export async function bucketKeys(settings: SettingValues): Promise<Map<string, Keys>> {
  const keys = new Map<string, Keys>();
  for (const backend of backendSettings(settings)) {
    if (backend.kind === 's3') keys.set(backend.id, await keysOf(backend));
  }
  return keys;
}

/** Opened, and not asked anything yet: a backend that is away never keeps the archive from starting. */
export async function openBackends(keys: LiveKeys, settings: SettingValues, watch: BackendWatch): Promise<Backend[]> {
  const openers = await Promise.all(
    backendSettings(settings).map(async (backend) => ({ id: backend.id, ...(await opener(backend, keys)) })),
  );
  refuseOnePlaceTwice(openers);
  return await Promise.all(
    openers.map(async ({ id, place, open }) => {
      const openAgain = async () => watchedStore(await open(), watch, SYSTEM_CLOCK);
      return { id, place, store: await openAgain(), openAgain };
    }),
  );
}

/** One copy would count twice. */
function refuseOnePlaceTwice(backends: readonly { readonly id: string; readonly place: string }[]): void {
  for (const [index, { id, place }] of backends.entries()) {
    const other = backends.slice(0, index).find((one) => one.place === place);
    if (other === undefined) continue;
    throw invalid(
      `The backends ${other.id} and ${id} are one place: ${place}.`,
      'Name another place (address, bucket or prefix) for one of them, or leave it out: a copy counts once.',
    );
  }
}

/**
 * `stored` cannot be promised by more backends than there are. A backend with a rule promises it of some blobs alone: the others
 * would wait here for ever, neither stored nor safe to evict.
 */
export function checkReplicas(required: number, counting: readonly string[], withRule: readonly string[] = []): void {
  const taking = counting.filter((id) => !withRule.includes(id));
  if (required <= taking.length) return;
  const others = withRule.length === 0 ? '' : ` A rule leaves blobs out at ${withRule.join(', ')}.`;
  throw invalid(
    `HOLDFAST_REPLICAS_REQUIRED is ${required}; backends that count for every blob: ${taking.length} (${taking.join(', ') || 'none'}).${others}`,
    'Configure more backends that take every blob, or require fewer; a data folder counts in HOLDFAST_LOCAL_MODE=keep only.',
  );
}

/** @throws ConfigError for a time that never comes, like the 31st of February. */
export async function checkSchedules(settings: SettingValues): Promise<void> {
  const { validate } = await import('node-cron');
  const given = {
    HOLDFAST_SCRUB_SCHEDULE: settings.scrubSchedule,
    HOLDFAST_AUDIT_SCHEDULE: settings.auditSchedule,
    HOLDFAST_CANARY_SCHEDULE: settings.canarySchedule,
    HOLDFAST_PEER_SCHEDULE: settings.peerSchedule,
    HOLDFAST_ATTEST_SCHEDULE: settings.attestSchedule,
    HOLDFAST_MAINTENANCE_SCHEDULE: settings.maintenanceSchedule,
    HOLDFAST_ALERT_DIGEST_SCHEDULE: settings.alertDigestSchedule,
  };
  for (const [name, schedule] of Object.entries(given)) {
    if (!validate(schedule)) {
      throw invalid(`${name} is no time that comes: ${schedule}.`, 'Give cron fields, like 17 3 * * *.');
    }
  }
}

/** Milliseconds for which a start waits to learn that a backend belongs to another chain; later it is a condition. */
const BINDING_CHECK_MS = 3_000;

/** Throws where it is known before the deadline that a backend belongs to another chain than the data folder. */
export async function refuseOtherChains(
  backends: readonly Backend[],
  genesis: BlockHash | null,
  deadline = AbortSignal.timeout(BINDING_CHECK_MS),
): Promise<void> {
  if (genesis === null) return;
  await Promise.all(
    backends.map(async ({ id, store }) => {
      const bound = await boundChain(store, deadline).catch((error: unknown) => {
        // Errors that settings alone decide are thrown now; errors of a server become a condition later.
        if (error instanceof StorageError && error.code === 'storage/other-layout') throw error;
        return null;
      });
      if (bound === null || bound === genesis) return;
      throw new StorageError(
        'storage/other-chain',
        `The ${id} store belongs to the chain whose first block is ${bound}; the data folder's begins with ${genesis}.`,
        {
          details: { backend: id, bound, genesis },
          retryable: false,
          hint: 'Name another bucket or prefix for this chain, or another HOLDFAST_DATA_DIR.',
        },
      );
    }),
  );
}

interface Opener {
  readonly place: string;
  readonly open: () => Promise<ObjectStore>;
}

/** Libraries are loaded for what is configured only: they cost a third of a second and dozens of MiB. */
async function opener(backend: BackendSettings, keys: LiveKeys): Promise<Opener> {
  switch (backend.kind) {
    case 's3': {
      const [{ S3Store }, { s3Options, s3Place }] = await Promise.all([
        import('../storage/s3/s3-store.ts'),
        import('../storage/s3/s3-options.ts'),
      ]);
      const options = s3Options(s3Given(backend, keys));
      return { place: s3Place(options), open: () => S3Store.open(options) };
    }
    case 'ipfs': {
      const [{ IpfsStore }, { ipfsOptions, kuboEndpoint }] = await Promise.all([
        import('../storage/ipfs/ipfs-store.ts'),
        import('../storage/ipfs/ipfs-options.ts'),
      ]);
      const options = ipfsOptions({ id: backend.id, apiUrl: await apiUrlOf(backend) });
      return { place: kuboEndpoint(options).base.href, open: () => IpfsStore.open(options) };
    }
    default:
      return backend satisfies never;
  }
}

/** A bucket that is only read, over the address and credentials of a configured backend, or of the plain settings. */
export async function openBucket(settings: SettingValues, words: BucketWords): Promise<ObjectStore> {
  const { backend, bucket, prefix, layout } = words;
  const like = s3Like(settings, backend);
  const keys = await keysOf(like);
  const { open } = await opener({ ...like, id: `bucket ${bucket}`, bucket, prefix, layout }, { keysOf: () => keys });
  return await open();
}

/** A bucket for files of any kind, over the address and credentials of a configured backend, or of the plain settings. */
export async function openPlainBucket(settings: SettingValues, words: Omit<BucketWords, 'layout'>): Promise<S3Bucket> {
  const { backend, bucket, prefix } = words;
  const like = s3Like(settings, backend);
  const keys = await keysOf(like);
  const [{ S3Bucket }, { s3Options }] = await Promise.all([
    import('../storage/s3/s3-bucket.ts'),
    import('../storage/s3/s3-options.ts'),
  ]);
  const given = s3Given({ ...like, id: `bucket ${bucket}`, bucket, prefix }, { keysOf: () => keys });
  return await S3Bucket.open({ ...s3Options(given), timeoutMs: PART_MS });
}

/** For one question: a large part, or a server that puts all parts together. */
const PART_MS = 300_000;

function s3Like(settings: SettingValues, backend: string | null): Omit<S3BackendSettings, 'bucket'> {
  const like = backend === null ? s3FromSettings(settings) : backendSettings(settings).find(({ id }) => id === backend);
  if (like?.kind === 's3') return like;
  throw invalid(`No S3 backend is named ${backend}.`, 'Name one from the configuration, or leave backend= out.');
}

export interface BucketWords {
  readonly bucket: string;
  readonly prefix: string;
  readonly layout: S3BackendSettings['layout'];
  /** null: as the plain settings say. */
  readonly backend: string | null;
}

function s3FromSettings(settings: SettingValues): Omit<S3BackendSettings, 'bucket'> {
  return {
    kind: 's3',
    id: 's3',
    maxBlobBytes: settings.s3MaxBlobBytes,
    allowFile: settings.s3AllowFile,
    endpoint: settings.s3Endpoint,
    region: settings.s3Region,
    prefix: settings.s3Prefix,
    layout: settings.s3Layout,
    addressing: settings.s3Addressing,
    accessKeyId: settings.s3AccessKeyId,
    secretAccessKey: settings.s3SecretAccessKey,
    secretAccessKeyFile: null,
    encryption: settings.s3Encryption,
    encryptionKeyId: settings.s3EncryptionKeyId,
    storageClass: settings.s3StorageClass,
    objectLockDays: settings.s3ObjectLockDays,
    objectLockMode: settings.s3ObjectLockMode,
  };
}

async function keysOf(backend: Omit<S3BackendSettings, 'bucket'>): Promise<Keys> {
  const { id, accessKeyId } = backend;
  const secretAccessKey = await secretOf(backend);
  if ((accessKeyId === null) !== (secretAccessKey === null)) {
    throw invalid(`The ${id} store has one half of its credentials.`, 'Give access key and secret, or neither.');
  }
  return accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey };
}

function s3Given(backend: S3BackendSettings, keys: LiveKeys): Pick<S3Options, 'bucket'> & Partial<S3Options> {
  const { id, bucket, region, endpoint, prefix, layout, addressing, storageClass } = backend;
  const atFirst = keys.keysOf(id);
  return {
    id,
    bucket,
    region,
    endpoint,
    prefix,
    layout,
    storageClass,
    ...(addressing === null ? {} : { addressing }),
    credentials: atFirst === null ? null : () => keys.keysOf(id) ?? atFirst,
    encryption: backend.encryption === null ? null : { algorithm: backend.encryption, keyId: backend.encryptionKeyId },
    objectLock: backend.objectLockDays === null ? null : { mode: backend.objectLockMode, days: backend.objectLockDays },
  };
}

async function secretOf({
  id,
  secretAccessKey,
  secretAccessKeyFile,
}: Omit<S3BackendSettings, 'bucket'>): Promise<string | null> {
  if (secretAccessKeyFile === null) return secretAccessKey;
  if (secretAccessKey !== null) throw invalid(`The ${id} store has its secret twice.`, 'Give it, or the file with it.');
  return await secretFileOf(`${id} store`, secretAccessKeyFile);
}

async function apiUrlOf({ id, apiUrl, apiUrlFile }: IpfsBackendSettings): Promise<string> {
  const given = apiUrlFile === null ? apiUrl : await secretFileOf(`${id} store`, apiUrlFile);
  const read = addressWithCredentials.safeParse(given);
  if (read.success) return read.data;
  throw invalid(
    `The address of the ${id} store ${read.error.issues[0]?.message}.`,
    `Repair the file ${apiUrlFile ?? 'of the configuration'}.`,
  );
}

/** @throws ConfigError when the file cannot be read. */
export async function secretFileOf(owner: string, path: string): Promise<string> {
  try {
    return (await readFile(resolve(path), 'utf8')).trim();
  } catch (cause) {
    throw invalid(`The secret of the ${owner} cannot be read: ${clauseOf(cause)}.`, 'Name a readable file.');
  }
}

/** A setting that is wrong. */
export function invalid(problem: string, hint: string): ConfigError {
  return new ConfigError('config/invalid', problem, { details: { problems: [problem] }, retryable: false, hint });
}
