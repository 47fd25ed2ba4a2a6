import { z } from 'zod';
import { ALERT_FORMATS } from '../core/alerts/alert-formats.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../core/observability/log-levels.ts';
import { DIALECTS } from '../node/method-table.ts';
import {
  type BackendSettings,
  backendList,
  bucketPrefix,
  S3_ADDRESSING,
  S3_ENCRYPTION,
  S3_LAYOUTS,
  S3_LOCK_MODES,
} from './backend-list.ts';
import { cronExpression } from './cron-expression.ts';
import { passThrough } from './pass-through.ts';
import { peerList, peerWords } from './peer-list.ts';
import { senderScripts } from './sender-list.ts';
import {
  address,
  addressWithCredentials,
  bytes,
  CODED_CREDENTIALS,
  fileSetting,
  hasCodedCredentials,
  httpAddress,
  milliseconds,
  oneOf,
  seconds,
  secret,
  setting,
  text,
  wholeAddress,
  wholeNumber,
} from './setting.ts';
import { trustedProxies } from './trusted-proxies.ts';

const nodeUrl = text.meta({ pattern: 'https?://' }).superRefine((value, context) => {
  const problem = urlProblem(value);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

/** Splits `node.url` at spaces and commas into its addresses. */
export function nodeUrls(value: string): string[] {
  return value.split(/[\s,]+/).filter((url) => url !== '');
}

function urlProblem(value: string): string | null {
  const urls = nodeUrls(value);
  if (urls.length === 0) return 'names no address';
  return urls.map(oneUrlProblem).find((problem) => problem !== null) ?? null;
}

function oneUrlProblem(value: string): string | null {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return 'must be an http:// or https:// address, like http://user:password@127.0.0.1:8370';
  }
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  return hasCodedCredentials(value) ? null : CODED_CREDENTIALS;
}

export const LOCAL_MODES = ['keep', 'cache'] as const;
const MAX_BYTES = 2 ** 49;

/** Every setting. Environment variables, flags, file keys, documentation and masking are derived from this list. */
export const SETTINGS = {
  dataDir: setting(
    'dataDir',
    text,
    './data',
    'Data folder with the blobs and the catalog. Only one process may use it at a time.',
  ),
  nodeUrl: address(
    'node.url',
    nodeUrl,
    'Address of the node, which may carry user and password. Several addresses: separate them by spaces or commas.',
  ),
  nodeUser: setting('node.user', text.nullable(), null, 'User name for the node.'),
  nodePassword: secret('node.password', 'Password for the node.'),
  nodeCookieFile: setting('node.cookieFile', text.nullable(), null, 'Cookie file of the node, instead of a password.'),
  nodeDialect: setting(
    'node.dialect',
    oneOf(['auto', ...DIALECTS]),
    'auto',
    'Release line of the node; auto detects it.',
  ),
  nodePollMs: setting(
    'node.pollMs',
    milliseconds(100, 60_000),
    2_000,
    'Milliseconds between two polls of the chain tip, or a duration like 2s.',
  ),
  nodeSweepMs: setting(
    'node.sweepMs',
    milliseconds(500, 300_000),
    5_000,
    "Milliseconds between two polls of the node's blob list, or a duration like 5s.",
  ),
  nodeRequests: setting('node.requests', wholeNumber(1, 16), 3, 'Concurrent blob fetches from the node.'),
  startHeight: setting(
    'startHeight',
    wholeNumber(0, 0x7fffffff).nullable(),
    null,
    'Height at which Holdfast starts to follow the chain. Without it, the lowest block whose blobs the node still had at the first start.',
  ),
  finality: setting(
    'finality',
    text.regex(/^(chainlock|depth:[1-9]\d{0,5})$/, 'must be chainlock or depth:<confirmations>'),
    'chainlock',
    'Rule for final blocks: chainlock, or depth:<n> confirmations on a network without ChainLocks.',
  ),
  httpHost: setting('http.host', text, '127.0.0.1', 'Address on which the HTTP API listens.'),
  httpPort: setting(
    'http.port',
    wholeNumber(0, 65_535),
    8_080,
    'Port of the HTTP API. 0 takes a free port and logs it.',
  ),
  httpTrustProxy: setting(
    'http.trustProxy',
    trustedProxies.nullable(),
    null,
    'Reverse proxies whose X-Forwarded-For names the client: their number, or their addresses and networks.',
  ),
  httpReadTokensFile: setting(
    'http.readTokensFile',
    text.nullable(),
    null,
    'File of SHA-256 token hashes that may read. Without it, every client may read.',
  ),
  httpAdminTokensFile: setting(
    'http.adminTokensFile',
    text.nullable(),
    null,
    'File of SHA-256 token hashes that may use operator routes.',
  ),
  httpRatePerSecond: setting(
    'http.ratePerSecond',
    wholeNumber(0, 1_000_000),
    2_000,
    'Requests per second and client (0 = unlimited).',
  ),
  httpConcurrentPerClient: setting(
    'http.concurrentPerClient',
    wholeNumber(0, 100_000),
    256,
    'Concurrent requests per client (0 = unlimited).',
  ),
  httpFacadeDialect: setting(
    'http.facadeDialect',
    oneOf(['svc', 'syscoin-4.4', 'syscoin-5']),
    'syscoin-5',
    'Node release whose JSON-RPC format Holdfast imitates.',
  ),
  httpCacheBytes: setting(
    'http.cacheBytes',
    bytes(0, 2 ** 40),
    64 * 1_048_576,
    "Bytes of memory for the cache of popular blobs, capped at an eighth of the container's memory limit (0 = no cache). Sizes like 64MiB are taken.",
  ),
  httpFacadePassThrough: setting(
    'http.facadePassThrough',
    passThrough.nullable(),
    null,
    'Read-only JSON-RPC methods that Holdfast passes through to the node, separated by spaces or commas.',
  ),
  peers: address(
    'peers',
    z.union([peerWords, peerList], 'must be text, or a list of peers'),
    'Archives, buckets and folders that Holdfast asks for blobs that no node has: https://archive.example, s3=<bucket>, dir=<path>. Separate several by spaces or commas. The file also takes a list of peers, each with source and, if wanted, name, token or tokenFile, and requestsPerSecond.',
  ),
  peerRequestsPerSecond: setting(
    'peerRequestsPerSecond',
    wholeNumber(1, 1_000),
    10,
    'Requests per second to each peer that names no number of its own.',
  ),
  peerSchedule: setting(
    'peerSchedule',
    cronExpression,
    '37 */6 * * *',
    'When what is held is compared with what each peer holds (cron).',
  ),
  archiverUrl: setting(
    'archiver.url',
    httpAddress.nullable(),
    null,
    'For serve: address of the archiver to ask for blobs that no backend has.',
  ),
  archiverToken: secret('archiver.token', 'For serve: read token of the archiver.'),
  withheldFile: setting(
    'withheldFile',
    text.nullable(),
    null,
    'For serve: file of withheld version hashes, one per line.',
  ),
  archiveMaxBlobBytes: setting(
    'archive.maxBlobBytes',
    bytes(1, MAX_BLOB_BYTES).nullable(),
    null,
    'Largest blob in bytes that is archived, or a size like 64KiB. Larger blobs are not fetched, and answered as not archived by rule. Without it, every size.',
  ),
  archiveSenders: setting(
    'archive.senders',
    senderScripts.nullable(),
    null,
    'ScriptPubKeys in hex, separated by spaces or commas. Blobs that one of them sent are archived whatever their size; blobs of unknown senders as well. Without archive.maxBlobBytes, no others are archived. Implies senders=learn.',
  ),
  senders: setting(
    'senders',
    oneOf(['off', 'learn']),
    'off',
    'learn: ask the node once for each blob transaction of a new block which scripts it spends from, so that events can be filtered by sender.',
  ),
  archiveAllowFile: setting(
    'archive.allowFile',
    text.nullable(),
    null,
    'File of version hashes that are archived whatever their size, one per line, read at the start. Without archive.maxBlobBytes, nothing else is archived.',
  ),
  localMode: setting(
    'local.mode',
    oneOf(LOCAL_MODES).nullable(),
    null,
    'keep: the data folder holds every blob and counts as a backend. cache: it evicts blobs that the backends hold.',
  ),
  localBytes: setting(
    'local.bytes',
    bytes(1_048_576, MAX_BYTES).nullable(),
    null,
    'Bytes of blobs that the cache holds at most, or a size like 50GB. Without it, the free disk space is the limit.',
  ),
  replicasRequired: setting(
    'replicas.required',
    wholeNumber(1, 16),
    1,
    'Backends that must hold a blob, read back and re-hashed, before it counts as stored.',
  ),
  replicasRequests: setting('replicas.requests', wholeNumber(1, 64), 8, 'Concurrent uploads to each backend.'),
  replicasBytesPerSecond: setting(
    'replicas.bytesPerSecond',
    bytes(65_536, MAX_BYTES).nullable(),
    null,
    'Upload limit of each backend in bytes per second, or a size like 20MB. Without it, no limit.',
  ),
  scrubSchedule: setting(
    'scrub.schedule',
    cronExpression,
    '17 3 * * *',
    'Cron schedule of the daily scrub, which reads a part of all blobs back and re-hashes it.',
  ),
  scrubDays: setting(
    'scrub.days',
    wholeNumber(1, 3_650),
    30,
    'Days in which the scrub reads and re-hashes every blob once.',
  ),
  alarmSilentBlocks: setting(
    'alarm.silentBlocks',
    wholeNumber(0, 1_000_000),
    288,
    'Alert after this many blocks without a blob (0 = never).',
  ),
  auditSchedule: setting(
    'audit.schedule',
    cronExpression,
    '29 4 * * *',
    'Cron schedule of the audit, which compares every final blob with the archive.',
  ),
  canarySchedule: setting(
    'canary.schedule',
    cronExpression,
    '41 * * * *',
    'Cron schedule of the canary, which fetches an old and a new blob through each backend.',
  ),
  attestSchedule: setting(
    'attest.schedule',
    cronExpression,
    '11 2 * * *',
    'Cron schedule that signs one attestation a month of the final blobs that this archive holds.',
  ),
  maintenanceSchedule: setting(
    'maintenance.schedule',
    cronExpression,
    '53 5 * * *',
    'Cron schedule of the catalog maintenance.',
  ),
  heartbeatUrl: secret(
    'heartbeat.url',
    'Heartbeat URL that Holdfast requests while the archive is healthy. A monitor alerts when the requests stop.',
    wholeAddress,
  ),
  heartbeatSeconds: setting(
    'heartbeat.seconds',
    seconds(1, 86_400),
    60,
    'Seconds between heartbeats, or a duration like 5m.',
  ),
  alertUrl: secret(
    'alert.url',
    'URL to which Holdfast posts when a condition is raised, worsens or clears, and once a day. It may carry a token.',
    wholeAddress,
  ),
  alertSecret: secret('alert.secret', 'Secret that signs every posted alert as Standard Webhooks do.'),
  alertFormat: setting('alert.format', oneOf(ALERT_FORMATS), 'json', 'Format of posted alerts.'),
  alertDigestSchedule: setting(
    'alert.digestSchedule',
    cronExpression,
    '5 8 * * *',
    'Cron schedule of the daily digest that Holdfast posts to the alert URL.',
  ),
  s3Endpoint: setting('s3.endpoint', httpAddress.nullable(), null, 'Address of the S3 server. Without it, AWS.'),
  s3Region: setting('s3.region', text, 'us-east-1', 'Region of the bucket.'),
  s3Bucket: setting('s3.bucket', text.nullable(), null, 'Bucket to replicate to. Without it, no S3 backend.'),
  s3Prefix: setting('s3.prefix', bucketPrefix, '', 'Path prefix of every object in the bucket.'),
  s3Layout: setting(
    's3.layout',
    oneOf(S3_LAYOUTS),
    'holdfast',
    'Naming of objects in the bucket: holdfast, or sentinel for buckets that Sentinel reads.',
  ),
  s3Addressing: setting(
    's3.addressing',
    oneOf(S3_ADDRESSING).nullable(),
    null,
    'Bucket name in the path or in the host name. Without it, path with an endpoint, else host.',
  ),
  s3AccessKeyId: setting(
    's3.accessKeyId',
    text.nullable(),
    null,
    'Access key. Without it, the credential chain of the AWS SDK.',
  ),
  s3SecretAccessKey: secret('s3.secretAccessKey', 'Secret access key.'),
  s3Encryption: setting(
    's3.encryption',
    oneOf(S3_ENCRYPTION).nullable(),
    null,
    'Server-side encryption of new objects.',
  ),
  s3EncryptionKeyId: setting('s3.encryptionKeyId', text.nullable(), null, 'KMS key for the encryption aws:kms.'),
  s3StorageClass: setting('s3.storageClass', text.nullable(), null, 'Storage class of new objects.'),
  s3ObjectLockDays: setting(
    's3.objectLockDays',
    wholeNumber(1, 36_500).nullable(),
    null,
    'Days of object lock on new objects. The bucket must have object lock enabled.',
  ),
  s3ObjectLockMode: setting('s3.objectLockMode', oneOf(S3_LOCK_MODES), 'GOVERNANCE', 'Mode of the object lock.'),
  s3MaxBlobBytes: setting(
    's3.maxBlobBytes',
    bytes(1, MAX_BLOB_BYTES).nullable(),
    null,
    'Largest blob in bytes that is replicated to the bucket, or a size like 64KiB. Without it, every size.',
  ),
  s3AllowFile: setting(
    's3.allowFile',
    text.nullable(),
    null,
    'File of version hashes that are replicated to the bucket whatever their size, one per line, read at the start. Without s3.maxBlobBytes, nothing else is replicated there.',
  ),
  ipfsApiUrl: address(
    'ipfs.apiUrl',
    addressWithCredentials,
    'RPC API of a Kubo node to replicate to, which may carry user and password.',
  ),
  ipfsMaxBlobBytes: setting(
    'ipfs.maxBlobBytes',
    bytes(1, MAX_BLOB_BYTES).nullable(),
    null,
    'Largest blob in bytes that is replicated to the Kubo node, or a size like 64KiB. Without it, every size.',
  ),
  ipfsAllowFile: setting(
    'ipfs.allowFile',
    text.nullable(),
    null,
    'File of version hashes that are replicated to the Kubo node whatever their size, one per line, read at the start. Without ipfs.maxBlobBytes, nothing else is replicated there.',
  ),
  backends: fileSetting<readonly BackendSettings[]>(
    'backends',
    backendList,
    [],
    'Further backends: a list of s3 and ipfs entries, each with kind, id and its own settings, maxBlobBytes and allowFile among them.',
  ),
  token: secret('token', 'Token that commands send to the HTTP API of a running archive.'),
  stopSeconds: setting(
    'stop.seconds',
    seconds(1, 3_600),
    25,
    "Seconds that a stop may take before the process exits, or a duration like 25s. Keep it below the supervisor's grace period.",
  ),
  logLevel: setting('log.level', oneOf(LOG_LEVELS), 'info', 'Lowest level of log lines.'),
  logFormat: setting(
    'log.format',
    oneOf(LOG_FORMATS),
    'auto',
    'Format of log lines: json, text, or auto, which writes text to a terminal and JSON elsewhere.',
  ),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = { readonly [N in SettingName]: z.output<(typeof SETTINGS)[N]['schema']> };
export const SETTING_NAMES = Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);
