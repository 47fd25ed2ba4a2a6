import { MalformedError } from '../blob/errors.ts';
import { decodeHex } from '../blob/hex.ts';
import type { VersionHash } from '../blob/ids.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import { cutDataFields, marker } from './data-field.ts';
import { malformedAnswer, NodeError } from './errors.ts';
import type { BytesOf } from './node-call.ts';
import { isObject, parseJson, type RpcAnswer, readEnvelope } from './rpc-answer.ts';

/** What was asked for, as the list told it. */
export interface WantedBlob {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  /** No list has named it: `sizeBytes` is only the most that it can be. */
  readonly sizeIsBound?: boolean;
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

/**
 * Checks one result of `getnevmblobdata` against what was asked for.
 * @throws NodeError `node/malformed-answer` (no data, not hex, odd), `node/wrong-blob` (another size or version hash)
 */
export function blobOf(result: unknown, wanted: WantedBlob, decoded: DecodedAnswer): UnverifiedBlob {
  const { versionHash, sizeBytes } = wanted;
  if (!isObject(result) || typeof result['data'] !== 'string') {
    throw malformedAnswer('The node answered without the data that was asked for.', { versionHash });
  }
  if (typeof result['versionhash'] !== 'string' || result['versionhash'].toLowerCase() !== versionHash) {
    throw wrongBlob('The node answered with another version hash than the one asked for.', { versionHash });
  }
  const datasize = result['datasize'];
  const isBounded = typeof datasize === 'number' && Number.isSafeInteger(datasize) && datasize <= sizeBytes;
  if (wanted.sizeIsBound === true && isBounded) {
    return {
      versionHash,
      hashType: null,
      bytes: decodeData(result['data'], { versionHash, sizeBytes: datasize }, decoded.bytesOf),
    };
  }
  if (datasize !== sizeBytes) {
    const said = typeof datasize === 'number' ? datasize : null;
    const message = `The node listed ${sizeBytes} bytes for this blob, and now says ${said ?? 'nothing'}.`;
    throw wrongBlob(message, { versionHash, listedBytes: sizeBytes, datasize: said });
  }
  return { versionHash, hashType: null, bytes: decodeData(result['data'], wanted, decoded.bytesOf) };
}

/** @throws NodeError `node/malformed-answer` (not hex, odd), `node/wrong-blob` (another size than the node says) */
export function decodeData(data: string, { versionHash, sizeBytes }: WantedBlob, bytesOf: BytesOf): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = bytesOf(data);
  } catch (cause) {
    if (!(cause instanceof MalformedError)) throw cause;
    throw malformedAnswer(`The node's data is not hex: ${cause.message}`, { versionHash, ...cause.details }, cause);
  }
  if (bytes.length === sizeBytes) return bytes;
  const details = { versionHash, sizeBytes, sentBytes: bytes.length };
  throw wrongBlob(`The node says ${sizeBytes} bytes for this blob, and sends ${bytes.length}.`, details);
}

export function wrongBlob(message: string, details: Readonly<Record<string, unknown>>): NodeError {
  return new NodeError('node/wrong-blob', message, {
    details,
    retryable: true,
    hint: 'Ask again; if it stays so the node’s cache is damaged: restart the node, or ask another.',
  });
}
