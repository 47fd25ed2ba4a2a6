// zod/mini instead of zod: a browser then loads some 10 kB instead of 400 kB.
import * as z from 'zod/mini';
import { HASH_TYPES, type HashType, type NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { boundedFetch, type FetchedBody, jsonIn } from './bounded-fetch.ts';
import type { BlobSource, FetchResult, SourceAccess } from './source.ts';

const PROBLEM = z.looseObject({ code: z.string(), detail: z.string() });
const time = z.nullable(z.string());

/** An archive's record of a blob. It is a claim: only bytes and proofs can be verified. */
export interface BlobRecord {
  versionHash: string;
  hashType: HashType | null;
  state: string;
  sizeBytes: number;
  medianTimeSeconds: number | null;
  seenAt: string | null;
  spooledAt: string | null;
  storedAt: string | null;
  replicas: { backend: string; state: string; verifiedAt: string | null; [more: string]: unknown }[];
  occurrences: {
    state: string;
    txid: string;
    vout: number | null;
    height: number | null;
    blockHash: string | null;
    [more: string]: unknown;
  }[];
  [more: string]: unknown;
}

const BLOB_RECORD: z.ZodMiniType<BlobRecord> = z.looseObject({
  versionHash: z.string(),
  hashType: z.nullable(z.enum(HASH_TYPES)),
  state: z.string(),
  sizeBytes: z.int(),
  medianTimeSeconds: z.nullable(z.int()),
  seenAt: time,
  spooledAt: time,
  storedAt: time,
  replicas: z.array(z.looseObject({ backend: z.string(), state: z.string(), verifiedAt: time })),
  occurrences: z.array(
    z.looseObject({
      state: z.string(),
      txid: z.string(),
      vout: z.nullable(z.int()),
      height: z.nullable(z.int()),
      blockHash: z.nullable(z.string()),
    }),
  ),
});

export interface BlobPage {
  blobs: BlobRecord[];
  next: string | null;
}

const PAGE: z.ZodMiniType<BlobPage> = z.object({ blobs: z.array(BLOB_RECORD), next: z.nullable(z.string()) });
const PROOFS = z.object({ records: z.array(z.unknown()).check(z.maxLength(64)) });
const STATUS = z.looseObject({ version: z.string(), conditions: z.array(z.looseObject({ message: z.string() })) });

/** Largest JSON answer in bytes: a listing of 1,000 records, or 16 proofs with the largest transactions. */
const JSON_BYTES = 16 * 1_048_576;

/** Answer of an archive to a request for JSON. */
export type JsonResult<T> =
  | { readonly kind: 'value'; readonly value: T }
  | Exclude<FetchResult, { readonly kind: 'bytes' }>;

/** A Holdfast archiver or stateless reader. Its problem codes are trusted; a bare status is not an answer. */
export class HoldfastSource implements BlobSource {
  readonly kind = 'holdfast';
  readonly name: string;
  readonly #access: SourceAccess;

  constructor(access: SourceAccess) {
    this.name = access.name;
    this.#access = access;
  }

  async fetchBlob(name: NamedHash, signal: AbortSignal): Promise<FetchResult> {
    const answer = await this.#get(`/v1/blobs/${spelled(name)}`, MAX_BLOB_BYTES, signal);
    if (answer.status !== 200) return meaningOf(answer);
    return { kind: 'bytes', candidates: answer.isCut ? [] : [{ ...name, bytes: answer.bytes }] };
  }

  record(name: NamedHash, signal: AbortSignal): Promise<JsonResult<BlobRecord>> {
    return this.#json(`/v1/blobs/${spelled(name)}/record`, BLOB_RECORD, signal);
  }

  /** Fetches proofs; the caller decodes and verifies them. */
  async proofs(name: NamedHash, signal: AbortSignal): Promise<JsonResult<readonly unknown[]>> {
    const result = await this.#json(`/v1/blobs/${spelled(name)}/proof`, PROOFS, signal);
    return result.kind === 'value' ? { kind: 'value', value: result.value.records } : result;
  }

  /** Fetches a receipt; the caller decodes and checks it. */
  receipt(name: NamedHash, signal: AbortSignal): Promise<JsonResult<unknown>> {
    return this.#json(`/v1/receipts/${spelled(name)}`, z.unknown(), signal);
  }

  page(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<JsonResult<BlobPage>> {
    return this.#json(`/v1/blobs?${new URLSearchParams(query)}`, PAGE, signal);
  }

  async ask(signal: AbortSignal): Promise<string> {
    const result = await this.#json('/v1/status', STATUS, signal);
    if (result.kind !== 'value') throw new TypeError(result.says);
    const { version, conditions } = result.value;
    return [`holdfast ${version}`, ...conditions.map(({ message }) => message)].join('; ');
  }

  async #json<T>(path: string, schema: z.ZodMiniType<T>, signal: AbortSignal): Promise<JsonResult<T>> {
    const answer = await this.#get(path, JSON_BYTES, signal);
    if (answer.status !== 200) return meaningOf(answer);
    const decoded = schema.safeParse(jsonIn(answer));
    if (decoded.success) return { kind: 'value', value: decoded.data };
    return { kind: 'no-answer', says: 'its answer is not what an archive of this version gives' };
  }

  #get(path: string, maxBytes: number, signal: AbortSignal): Promise<FetchedBody> {
    const { base, headers, fetching } = this.#access;
    return boundedFetch(fetching, `${base}${path}`, { headers, signal, maxBytes });
  }
}

/** The form of the name that carries the hash type, when the type is known. */
function spelled({ versionHash, hashType }: NamedHash): string {
  return hashType === 'blake2s256' ? `01${versionHash}` : versionHash;
}

/** Interprets a failed answer by its problem code. A bare 404 may come from a load balancer. */
function meaningOf(answer: FetchedBody): Exclude<FetchResult, { readonly kind: 'bytes' }> {
  const problem = PROBLEM.safeParse(jsonIn(answer));
  if (!problem.success) return { kind: 'no-answer', says: `status ${answer.status} without a problem document` };
  const { code, detail } = problem.data;
  switch (code) {
    case 'blob/absent':
      return { kind: 'absent', says: detail };
    case 'blob/lost':
      return { kind: 'lost', says: detail };
    case 'blob/withheld':
      return { kind: 'withheld', says: detail };
    case 'blob/not-archived-by-rule':
      return { kind: 'not-archived-by-rule', says: detail };
    default:
      return { kind: 'no-answer', says: `${code}: ${detail}` };
  }
}
