import type { z } from 'zod';
import { LOG_LEVELS } from '../core/observability/log-levels.ts';
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
import {
  address,
  addressWithCredentials,
  CODED_CREDENTIALS,
  fileSetting,
  hasCodedCredentials,
  httpAddress,
  oneOf,
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

/** The addresses that `node.url` names: one, or several separated by spaces or commas. */
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
const MOST_BYTES = 2 ** 49;

/** The one list of what can be configured. Environment, flags, file, documentation and masking all follow from it. */
export const SETTINGS = {
  dataDir: setting('dataDir', text, './data', 'Folder that holds blobs and catalog; one process at a time.'),
  nodeUrl: address(
    'node.url',
    nodeUrl,
    'Address of the node; may carry user and password. Several: separated by spaces or commas.',
  ),
  nodeUser: setting('node.user', text.nullable(), null, 'User name for the node.'),
  nodePassword: secret('node.password', 'Password for the node.'),
  nodeCookieFile: setting('node.cookieFile', text.nullable(), null, 'Cookie file of the node, instead of a password.'),
  nodeDialect: setting('node.dialect', oneOf(['auto', ...DIALECTS]), 'auto', 'Release line that the node speaks.'),
  nodePollMs: setting('node.pollMs', wholeNumber(100, 60_000), 2_000, 'Milliseconds between questions for the tip.'),
  nodeSweepMs: setting('node.sweepMs', wholeNumber(500, 300_000), 5_000, 'Milliseconds between readings of the list.'),
  nodeRequests: setting('node.requests', wholeNumber(1, 16), 3, 'Fetches under way at the node at a time.'),
  startHeight: setting(
    'startHeight',
    wholeNumber(0, 0x7fffffff).nullable(),
    null,
    'Height where the walk of the chain begins; without it, the lowest that can be saved at the very first start.',
  ),
  finality: setting(
    'finality',
    text.regex(/^(chainlock|depth:[1-9]\d{0,5})$/, 'must be chainlock or depth:<confirmations>'),
    'chainlock',
    'What is final: ChainLocks, or depth:<n> confirmations where the network has none.',
  ),
  httpHost: setting('http.host', text, '127.0.0.1', 'Address that the API listens on.'),
  httpPort: setting('http.port', wholeNumber(0, 65_535), 8_080, 'Port of the API; 0 takes a free one and logs it.'),
  httpTrustProxy: setting('http.trustProxy', trustedProxies.nullable(), null, 'Proxies in front that say who asks.'),
  httpReadTokensFile: setting('http.readTokensFile', text.nullable(), null, 'Hashes of the tokens that reading takes.'),
  httpAdminTokensFile: setting('http.adminTokensFile', text.nullable(), null, 'Hashes of the tokens of operators.'),
  httpRatePerSecond: setting(
    'http.ratePerSecond',
    wholeNumber(0, 1_000_000),
    2_000,
    'Requests a second of one client.',
  ),
  httpConcurrentPerClient: setting(
    'http.concurrentPerClient',
    wholeNumber(0, 100_000),
    256,
    'Requests of one client under way at a time; 0: no limit, here as in the rate.',
  ),
  httpFacadeDialect: setting(
    'http.facadeDialect',
    oneOf(['svc', 'syscoin-4.4', 'syscoin-5']),
    'syscoin-5',
    'Release that JSON-RPC answers here look like.',
  ),
  httpCacheBytes: setting(
    'http.cacheBytes',
    wholeNumber(0, 2 ** 40),
    64 * 1_048_576,
    'Memory for blobs that are asked for often, at most an eighth of what a container may have; 0: none.',
  ),
  httpFacadePassThrough: setting(
    'http.facadePassThrough',
    passThrough.nullable(),
    null,
    'Read-only methods that JSON-RPC here hands on to the node, separated by spaces or commas.',
  ),
  peers: address(
    'peers',
    text,
    'Archives, buckets and folders that are asked for what no node has: https://archive.example, s3=<bucket>, dir=<path>; several: separated by spaces or commas.',
  ),
  peerRequestsPerSecond: setting(
    'peerRequestsPerSecond',
    wholeNumber(1, 1_000),
    10,
    'Questions a second to each peer.',
  ),
  archiverUrl: setting(
    'archiver.url',
    httpAddress.nullable(),
    null,
    'For serve: the archiver that is asked for what no backend has.',
  ),
  archiverToken: secret('archiver.token', 'For serve: token for reading from the archiver.'),
  withheldFile: setting(
    'withheldFile',
    text.nullable(),
    null,
    'For serve: file of version hashes that are not served, one a line.',
  ),
  localMode: setting(
    'local.mode',
    oneOf(LOCAL_MODES).nullable(),
    null,
    'keep: the data folder holds every blob and counts as a backend; cache: it lets go of what backends hold.',
  ),
  localBytes: setting(
    'local.bytes',
    wholeNumber(1_048_576, MOST_BYTES).nullable(),
    null,
    'Bytes of blobs that a cache holds at most; without it, as much as the disk leaves.',
  ),
  replicasRequired: setting(
    'replicas.required',
    wholeNumber(1, 16),
    1,
    'How many backends must hold a blob, fetched back and re-hashed, before it is stored.',
  ),
  replicasRequests: setting('replicas.requests', wholeNumber(1, 64), 8, 'Blobs under way to each backend at a time.'),
  replicasBytesPerSecond: setting(
    'replicas.bytesPerSecond',
    wholeNumber(65_536, MOST_BYTES).nullable(),
    null,
    'Bytes a second that go to each backend at most.',
  ),
  scrubSchedule: setting('scrub.schedule', cronExpression, '17 3 * * *', 'When the daily slice is read again (cron).'),
  scrubDays: setting('scrub.days', wholeNumber(1, 3_650), 30, 'Days in which everything is read and hashed again.'),
  alarmSilentBlocks: setting(
    'alarm.silentBlocks',
    wholeNumber(0, 1_000_000),
    288,
    'Blocks without a blob after which that is told (0: never).',
  ),
  auditSchedule: setting('audit.schedule', cronExpression, '29 4 * * *', 'When all that is final is compared (cron).'),
  canarySchedule: setting(
    'canary.schedule',
    cronExpression,
    '41 * * * *',
    'When an old and a new blob are fetched through each backend (cron).',
  ),
  attestSchedule: setting(
    'attest.schedule',
    cronExpression,
    '11 2 * * *',
    "When this month's statement of what is held is signed, if there is none yet (cron).",
  ),
  maintenanceSchedule: setting(
    'maintenance.schedule',
    cronExpression,
    '53 5 * * *',
    'When the catalog is tidied (cron).',
  ),
  heartbeatUrl: secret(
    'heartbeat.url',
    'Address that is asked while all is well; whoever listens alarms when it stops.',
    wholeAddress,
  ),
  heartbeatSeconds: setting('heartbeat.seconds', wholeNumber(1, 86_400), 60, 'Seconds between heartbeats.'),
  s3Endpoint: setting('s3.endpoint', httpAddress.nullable(), null, 'Address of the S3 server; without it, AWS.'),
  s3Region: setting('s3.region', text, 'us-east-1', 'Region of the bucket.'),
  s3Bucket: setting('s3.bucket', text.nullable(), null, 'Bucket to replicate to; without it, none.'),
  s3Prefix: setting('s3.prefix', bucketPrefix, '', 'Path in the bucket below which everything lies.'),
  s3Layout: setting('s3.layout', oneOf(S3_LAYOUTS), 'holdfast', 'How objects are named and written.'),
  s3Addressing: setting(
    's3.addressing',
    oneOf(S3_ADDRESSING).nullable(),
    null,
    'Bucket in the path or in the host; without it, path where an endpoint is given.',
  ),
  s3AccessKeyId: setting('s3.accessKeyId', text.nullable(), null, 'Access key; without it, the chain of the AWS SDK.'),
  s3SecretAccessKey: secret('s3.secretAccessKey', 'Secret of the access key.'),
  s3Encryption: setting('s3.encryption', oneOf(S3_ENCRYPTION).nullable(), null, 'Encryption by the server.'),
  s3EncryptionKeyId: setting('s3.encryptionKeyId', text.nullable(), null, 'Key for aws:kms.'),
  s3StorageClass: setting('s3.storageClass', text.nullable(), null, 'Storage class of what is written.'),
  s3ObjectLockDays: setting(
    's3.objectLockDays',
    wholeNumber(1, 36_500).nullable(),
    null,
    'Days for which nobody may delete what is written; the bucket must have object lock.',
  ),
  s3ObjectLockMode: setting('s3.objectLockMode', oneOf(S3_LOCK_MODES), 'GOVERNANCE', 'Kind of the object lock.'),
  ipfsApiUrl: address(
    'ipfs.apiUrl',
    addressWithCredentials,
    'RPC API of a Kubo node to replicate to; may carry user and password.',
  ),
  backends: fileSetting<readonly BackendSettings[]>(
    'backends',
    backendList,
    [],
    'More backends: a list of s3 and ipfs ones, each with a kind, an id and its own settings.',
  ),
  token: secret('token', 'Token for commands that ask an archive over its port.'),
  stopSeconds: setting(
    'stop.seconds',
    wholeNumber(1, 3_600),
    25,
    'Seconds that a stop may take; then the process leaves at once. Less than the grace period of the supervisor.',
  ),
  logLevel: setting('log.level', oneOf(LOG_LEVELS), 'info', 'Least level that is logged.'),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = { readonly [N in SettingName]: z.output<(typeof SETTINGS)[N]['schema']> };
export const SETTING_NAMES = Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);
