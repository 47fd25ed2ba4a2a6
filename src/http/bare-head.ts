import { STATUS_CODES } from 'node:http';
import { type ContentName, parseVersionHash, type VersionHash } from '../blob/ids.ts';
import { IMMUTABLE } from './answer.ts';
import { entityTagOf } from './entity-tag.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

const BEGINNING = 'GET /v1/blobs/';
const HASH_END = BEGINNING.length + 64;
const LOWER_HEX = /^[0-9a-f]{64}$/;
/** A head of more than that is for node's own parser. */
export const MOST_HEAD_BYTES = 2_048;

/** From behind the hash to the end. Nothing folded, no bare line ends, no spaces where none belong. */
const REST = /^ HTTP\/1\.1\r\n((?:[A-Za-z-]{1,40}: [\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\r\n)+)\r\n$/;
/** What changes nothing in the answer. Any other header may. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'user-agent',
  'accept',
  'accept-encoding',
  'accept-language',
  'origin',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
]);

/** `rest`: how this client goes on behind the hash; mostly it is the same each time. */
export interface BareRequest {
  readonly versionHash: VersionHash;
  readonly rest: string;
}

/**
 * Exactly one whole request for the bytes of a blob, with nothing behind it, and of which every byte is understood; null:
 * anything else. `knownRest`: one that was found good before.
 */
export function bareRequestIn(chunk: Buffer, knownRest: string | null): BareRequest | null {
  if (chunk.length <= HASH_END || chunk.length > MOST_HEAD_BYTES) return null;
  const text = chunk.toString('latin1');
  if (!text.startsWith(BEGINNING)) return null;
  const rest = text.slice(HASH_END);
  if (rest !== knownRest && !isPlain(rest)) return null;
  const hex = text.slice(BEGINNING.length, HASH_END);
  return LOWER_HEX.test(hex) ? { versionHash: parseVersionHash(hex), rest } : null;
}

function isPlain(rest: string): boolean {
  const lines = REST.exec(rest)?.[1]?.split('\r\n').slice(0, -1) ?? [];
  const headers = lines.map((line) => line.split(': ', 1)[0]?.toLowerCase() ?? '');
  if (new Set(headers).size !== headers.length || !headers.includes('host')) return false;
  if (!headers.every((name) => WITHOUT_EFFECT.has(name))) return false;
  return lines.every((line) => !/^connection:/i.test(line) || /^connection: keep-alive$/i.test(line));
}

const STANDING = Object.entries(STANDING_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);
const HEAD = `HTTP/1.1 200 ${STATUS_CODES[200]}\r\n${STANDING.join('')}cache-control: ${IMMUTABLE}\r\naccept-ranges: bytes\r\ncontent-type: application/octet-stream\r\n`;

export interface BareHead extends ContentName {
  readonly requestId: string;
  readonly sizeBytes: number;
  readonly keepAliveSeconds: number;
}

/** The head that node writes for the same answer. */
export function bareHead(head: BareHead): string {
  const { requestId, sizeBytes, keepAliveSeconds } = head;
  return `${HEAD}etag: ${entityTagOf(head)}\r\nx-request-id: ${requestId}\r\ncontent-length: ${sizeBytes}\r\nDate: ${httpDate()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`;
}

let dateSecond = 0;
let dateText = '';

/** Made once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1_000).toUTCString();
  }
  return dateText;
}
