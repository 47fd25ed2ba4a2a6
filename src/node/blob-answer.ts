import { MalformedError } from '../core/blob/errors.ts';
import { decodeHex } from '../core/blob/hex.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import { cutDataFields, marker } from './data-field.ts';
import { malformedAnswer, NodeError } from './errors.ts';
import type { BytesOf } from './node-call.ts';
import { isObject, parseJson, type RpcAnswer, readEnvelope } from './rpc-answer.ts';

/** What was asked for, as the list told it. */
export interface WantedBlob {
  readonly versionHash: VersionHash;
  /** A hint: the hash decides what the bytes are. */
  readonly sizeBytes: number;
  /** How often it was asked for in vain; then it is asked for by itself. */
  readonly attempts?: number;
}

/** An answer whose blobs are decoded: by the strings that stand for them in `value`. */
interface DecodedAnswer {
  readonly value: unknown;
  readonly bytesOf: BytesOf;
}

/**
 * Reads the answer to one call (an object) or to a batch (an array), with the blobs in it still hex.
 * @throws NodeError `node/malformed-answer` when it is not JSON at all.
 */
export function readBlobAnswer(body: Buffer, expected: readonly WantedBlob[]): DecodedAnswer {
  const cut = cutDataFields(
    body,
    expected.map(({ sizeBytes }) => sizeBytes * 2),
  );
  try {
    const blobs = new Map(
      cut.fields.map(({ start, end }, index) => [marker(index), decodeHex(body.subarray(start, end))] as const),
    );
    const value = parseJson(cut.text);
    return { value, bytesOf: (data) => blobs.get(data) ?? decodeHex(data) };
  } catch {
    // A surprise: bad hex, other spacing, a key inside a string. The strict way says which, and whose fault.
    return { value: parseJson(body.toString('utf8')), bytesOf: decodeHex };
  }
}

/** @throws NodeError `node/malformed-answer`; the caller matches by id. */
export function readBatch(value: unknown): Map<unknown, RpcAnswer> {
  if (!Array.isArray(value)) throw malformedAnswer('A batch was answered with something other than a list.', {});
  const answers = new Map<unknown, RpcAnswer>();
  const twice = new Set<unknown>();
  for (const entry of value) {
    const answer = readEnvelope(entry);
    if (answers.has(answer.id)) twice.add(answer.id);
    answers.set(answer.id, answer);
  }
  for (const id of twice) answers.delete(id);
  return answers;
}

/** The bytes of one answer, and what the node says of them that does not fit: it matters only if they do not verify. */
export interface AnsweredBlob {
  readonly blob: UnverifiedBlob;
  readonly doubt: NodeError | null;
}

/**
 * Reads one result of `getnevmblobdata`. Sizes, listed or said, are not proof of anything: the hash is.
 * @throws NodeError `node/malformed-answer` (no data, not hex, odd), `node/wrong-blob` (another version hash, or a length
 *   that no blob has)
 */
export function blobOf(result: unknown, wanted: WantedBlob, decoded: DecodedAnswer): AnsweredBlob {
  const { versionHash } = wanted;
  if (!isObject(result) || typeof result['data'] !== 'string') {
    throw malformedAnswer('The node answered without the data that was asked for.', { versionHash });
  }
  if (typeof result['versionhash'] !== 'string' || result['versionhash'].toLowerCase() !== versionHash) {
    throw wrongBlob('The node answered with another version hash than the one asked for.', { versionHash });
  }
  const bytes = bytesOfData(result['data'], versionHash, decoded.bytesOf);
  if (bytes.length < MIN_BLOB_BYTES || bytes.length > MAX_BLOB_BYTES) {
    throw wrongBlob(`The node sends ${bytes.length} bytes for this blob; the chain allows 1 to 2,097,152.`, {
      versionHash,
    });
  }
  const said = typeof result['datasize'] === 'number' ? result['datasize'] : null;
  const doubt = said === bytes.length ? null : wrongSize({ versionHash, sizeBytes: said }, bytes);
  return { blob: { versionHash, hashType: null, bytes }, doubt };
}

/** @throws NodeError `node/malformed-answer` (not hex, odd), `node/wrong-blob` (another size than the node says) */
export function decodeData(data: string, said: WantedBlob, bytesOf: BytesOf): Uint8Array {
  const bytes = bytesOfData(data, said.versionHash, bytesOf);
  if (bytes.length === said.sizeBytes) return bytes;
  throw wrongSize(said, bytes);
}

function bytesOfData(data: string, versionHash: VersionHash, bytesOf: BytesOf): Uint8Array {
  try {
    return bytesOf(data);
  } catch (cause) {
    if (!(cause instanceof MalformedError)) throw cause;
    throw malformedAnswer(`The node's data is not hex: ${cause.message}`, { versionHash, ...cause.details }, cause);
  }
}

function wrongSize(
  { versionHash, sizeBytes }: { versionHash: VersionHash; sizeBytes: number | null },
  bytes: Uint8Array,
) {
  const details = { versionHash, sizeBytes, sentBytes: bytes.length };
  return wrongBlob(`The node says ${sizeBytes ?? 'no'} bytes for this blob, and sends ${bytes.length}.`, details);
}

export function wrongBlob(message: string, details: Readonly<Record<string, unknown>>): NodeError {
  return new NodeError('node/wrong-blob', message, {
    details,
    retryable: true,
    hint: 'Ask again; if it stays so the node’s cache is damaged: restart the node, or ask another.',
  });
}
