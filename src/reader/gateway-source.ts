import { blobCid } from '../core/blob/cid.ts';
import { HASH_TYPES, type HashType, type NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { BlobSource, FetchResult, SourceAccess } from './source.ts';

/** The empty block under the identity hash. Every gateway serves it without a look-up. */
const EMPTY_CID = 'bafkqaaa';
const RAW_BLOCK = 'application/vnd.ipld.raw';

/** An IPFS gateway. A blob is one raw block under the CID that follows from its version hash. */
export class GatewaySource implements BlobSource {
  readonly kind = 'ipfs-gateway';
  readonly name: string;
  readonly #access: SourceAccess;

  constructor(access: SourceAccess) {
    this.name = access.name;
    this.#access = access;
  }

  /** Fetches both CIDs in parallel when the hash type is unknown: a gateway may search for long. */
  async fetchBlob(name: NamedHash, signal: AbortSignal): Promise<FetchResult> {
    const { hashType } = name;
    if (hashType !== null) return await this.#fetchOne(name, hashType, signal);
    const done = new AbortController();
    const both = AbortSignal.any([signal, done.signal]);
    const asked = HASH_TYPES.map(async (one) => {
      const given = await this.#fetchOne(name, one, both);
      if (given.kind !== 'bytes') throw new NotFetched(given);
      return given;
    });
    try {
      return await Promise.any(asked);
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      // A failed request outweighs a definite no.
      const failed = error.errors.find((one) => !(one instanceof NotFetched) || one.given.kind !== 'absent');
      if (failed === undefined) return { kind: 'absent', says: 'the gateway has neither CID' };
      if (failed instanceof NotFetched) return failed.given;
      throw failed;
    } finally {
      done.abort();
    }
  }

  async ask(signal: AbortSignal): Promise<string> {
    const { status } = await this.#get(EMPTY_CID, signal);
    if (status !== 200) throw new TypeError(`status ${status} for the empty block`);
    return 'gives blocks';
  }

  async #fetchOne(name: NamedHash, hashType: HashType, signal: AbortSignal): Promise<FetchResult> {
    const cid = blobCid({ versionHash: name.versionHash, hashType });
    const { status, bytes, isCut } = await this.#get(cid.toString(), signal);
    if (status === 200) return { kind: 'bytes', candidates: isCut ? [] : [{ ...name, bytes }] };
    // 404: the gateway does not search the network (NoFetch). 412: only-if-cached. A 504 is not a definite answer.
    if (status === 404 || status === 412) return { kind: 'absent', says: `status ${status}` };
    return { kind: 'no-answer', says: `status ${status}` };
  }

  #get(cid: string, signal: AbortSignal) {
    const { base, headers, fetching } = this.#access;
    const init = { headers: { ...headers, accept: RAW_BLOCK }, signal, maxBytes: MAX_BLOB_BYTES };
    return boundedFetch(fetching, `${base}/ipfs/${cid}?format=raw`, init);
  }
}

class NotFetched extends Error {
  readonly given: Exclude<FetchResult, { readonly kind: 'bytes' }>;

  constructor(given: Exclude<FetchResult, { readonly kind: 'bytes' }>) {
    super(given.says);
    this.given = given;
  }
}
