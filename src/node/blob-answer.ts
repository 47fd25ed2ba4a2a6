import { MalformedError } from '../core/blob/errors.ts';
import { decodeHex } from '../core/blob/hex.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import { cutDataFields, marker } from './data-field.ts';
import { malformedAnswer, NodeError } from './errors.ts';
import type { BytesOf } from './node-call.ts';
import { isObject, parseJson, type RpcAnswer, readEnvelope } from './rpc-answer.ts';

/** A blob to fetch, as the node's list described it. */
export interface RequestedBlob {
  readonly versionHash: VersionHash;
  /** Size from the list. It is a hint: only the hash proves the bytes. */
  readonly sizeBytes: number;
  /** Failed fetches so far. After the first, the blob is fetched alone. */
  readonly attempts?: number;
}

/** A parsed answer. `bytesOf` decodes the strings in `value` that stand for blobs. */
interface DecodedAnswer {
  readonly value: unknown;
  readonly bytesOf: BytesOf;
}

/**
 * Parses the answer to one call (an object) or to a batch (an array), with its blobs still in hex.
 * @throws NodeError `node/malformed-answer` for invalid JSON
 */
export function readBlobAnswer(body: Buffer, expected: readonly RequestedBlob[]): DecodedAnswer {
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
    // Unexpected input (bad hex, other spacing, a key inside a string) takes the strict path, which reports the cause.
    return { value: parseJson(body.toString('utf8')), bytesOf: decodeHex };
  }
}

/**
 * Answers of a batch by id.
 * @throws NodeError `node/malformed-answer`
 */
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

/**
 * Bytes of one answer. `doubt` names contradictions in the answer, which matter only if the bytes fail verification.
 */
export interface AnsweredBlob {
  readonly blob: UnverifiedBlob;
  readonly doubt: NodeError | null;
}

/**
 * Reads one result of `getnevmblobdata`. The sizes in the list and the answer prove nothing; the hash does.
 * @throws NodeError `node/malformed-answer` (no data, not hex, odd), `node/wrong-blob` (another version hash, or an
 * impossible length)
 */
export function blobOf(result: unknown, wanted: RequestedBlob, decoded: DecodedAnswer): AnsweredBlob {
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

/**
 * Decodes the hex data of a blob.
 * @throws NodeError `node/malformed-answer` (not hex, odd), `node/wrong-blob` (another size than the node says)
 */
export function decodeData(data: string, said: RequestedBlob, bytesOf: BytesOf): Uint8Array {
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
    hint: 'Ask again. If the error stays, the node’s cache is damaged: restart the node, or ask another one.',
  });
}
