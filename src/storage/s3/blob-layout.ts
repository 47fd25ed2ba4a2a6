import { decodeHex, encodeHexInto } from '../../core/blob/hex.ts';
import { type ContentName, HASH_TYPES, parseVersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { StorageError } from '../errors.ts';
import type { ListedBlob } from '../object-store.ts';

/** Naming and encoding of blobs in a bucket. */
export interface BlobLayout {
  readonly contentType: string;
  /** Below which all blobs lie: what is listed. */
  readonly listPrefix: string;
  /** One byte more than the largest body that can be right: more is never read. */
  readonly bodyLimitBytes: number;
  keyOf(name: ContentName): string;
  /** null: the key is no blob's. */
  entryOf(key: string, bodyBytes: number): ListedBlob | null;
  encode(bytes: Uint8Array): Uint8Array;
  /** Decodes a body. An undecodable body is returned unchanged and then fails its hash, as damaged bytes do. */
  decode(body: Uint8Array): Uint8Array;
  sizeOf(bodyBytes: number): number;
}

/** Raw bytes under a key made of hash type and version hash. */
export function rawLayout(template: string): BlobLayout {
  const [before, between, after] = partsOf(template);
  const patterns = HASH_TYPES.map((hashType) => ({
    hashType,
    start: `${before}${hashType}${between}`,
  }));
  return {
    contentType: 'application/octet-stream',
    listPrefix: before,
    bodyLimitBytes: MAX_BLOB_BYTES + 1,
    keyOf: ({ hashType, versionHash }) => `${before}${hashType}${between}${versionHash}${after}`,
    entryOf: (key, sizeBytes) => {
      for (const { hashType, start } of patterns) {
        if (key.length !== start.length + 64 + after.length || !key.startsWith(start) || !key.endsWith(after)) continue;
        const hash = key.slice(start.length, start.length + 64);
        if (HASH.test(hash)) return { hashType, versionHash: parseVersionHash(hash), sizeBytes };
      }
      return null;
    },
    encode: (bytes) => bytes,
    decode: (body) => body,
    sizeOf: (bodyBytes) => bodyBytes,
  };
}

const HASH = /^[0-9a-f]{64}$/;

function partsOf(template: string): [string, string, string] {
  const parts = /^([^{}]*)\{hashType\}([^{}]*)\{versionHash\}([^{}]*)$/.exec(template);
  const [, before, between, after] = parts ?? [];
  if (before === undefined || between === undefined || after === undefined) {
    throw new StorageError('storage/unknown-format', `${JSON.stringify(template)} is no template of keys.`, {
      retryable: false,
      hint: 'Name {hashType} and then {versionHash}, once each, like blobs/{hashType}/{versionHash}.',
    });
  }
  return [before, between, after];
}

/** White space at the end, and a 0x in front, as hands and tools leave them. */
const HEX_SLACK_CHARS = 16;

/** No shift: a body of another kind can be longer than 32 bits say. */
const bytesOfHex = (chars: number): number => Math.floor(chars / 2);

/**
 * The layout of Sentinel: key = version hash, body = hex text. The key does not name the hash function; keccak256 is by
 * far the likelier one.
 */
export const sentinelLayout: BlobLayout = {
  contentType: 'text/plain; charset=utf-8',
  listPrefix: '',
  bodyLimitBytes: 2 * MAX_BLOB_BYTES + HEX_SLACK_CHARS + 1,
  keyOf: ({ versionHash }) => versionHash,
  entryOf: (key, bodyBytes) => {
    if (!HASH.test(key)) return null;
    const versionHash = parseVersionHash(key);
    return { hashType: 'keccak256', versionHash, sizeBytes: bytesOfHex(bodyBytes), hashTypeUnsaid: true };
  },
  encode: (bytes) => {
    const text = new Uint8Array(bytes.length * 2);
    encodeHexInto(bytes, text);
    return text;
  },
  decode: (body) => {
    try {
      return decodeHex(bare(body));
    } catch {
      return body;
    }
  },
  sizeOf: bytesOfHex,
};

const ZERO = 0x30;
const X = 0x78;
const SPACE = 0x20;

function bare(text: Uint8Array): Uint8Array {
  let end = text.length;
  while (end > 0 && (text[end - 1] ?? 0) <= SPACE) end -= 1;
  const start = text[0] === ZERO && ((text[1] ?? 0) | SPACE) === X ? 2 : 0;
  return text.subarray(start, end);
}
