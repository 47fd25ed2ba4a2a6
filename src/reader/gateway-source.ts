import { blobCid } from '../core/blob/cid.ts';
import { HASH_TYPES, type HashType, type NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { BlobSource, Given, SourceAccess } from './source.ts';

/** The empty block under the identity hash: every gateway gives it without asking anybody. */
const EMPTY_CID = 'bafkqaaa';
const RAW_BLOCK = 'application/vnd.ipld.raw';

/** An IPFS gateway: one raw block under the CID that follows from the version hash. */
export class GatewaySource implements BlobSource {
  readonly kind = 'ipfs-gateway';
  readonly name: string;
  readonly #access: SourceAccess;

  constructor(access: SourceAccess) {
    this.name = access.name;
    this.#access = access;
  }

  /** Where the name does not say which hash, both CIDs are asked for at once: a gateway may search for long. */
  async fetchBlob(name: NamedHash, signal: AbortSignal): Promise<Given> {
    const { hashType } = name;
    if (hashType !== null) return await this.#fetchOne(name, hashType, signal);
    const done = new AbortController();
    const both = AbortSignal.any([signal, done.signal]);
    const asked = HASH_TYPES.map(async (one) => {
      const given = await this.#fetchOne(name, one, both);
      if (given.kind !== 'bytes') throw new NotGiven(given);
      return given;
    });
    try {
      return await Promise.any(asked);
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      // One that did not answer outweighs one that says no.
      const failed = error.errors.find((one) => !(one instanceof NotGiven) || one.given.kind !== 'absent');
      if (failed === undefined) return { kind: 'absent', says: 'the gateway has neither CID' };
      if (failed instanceof NotGiven) return failed.given;
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

  async #fetchOne(name: NamedHash, hashType: HashType, signal: AbortSignal): Promise<Given> {
    const cid = blobCid({ versionHash: name.versionHash, hashType });
    const { status, bytes, isCut } = await this.#get(cid.toString(), signal);
    if (status === 200) return { kind: 'bytes', candidates: isCut ? [] : [{ ...name, bytes }] };
    // 404: it does not search (NoFetch); 412: only-if-cached. Both are its own word; a 504 is none.
    if (status === 404 || status === 412) return { kind: 'absent', says: `status ${status}` };
    return { kind: 'no-answer', says: `status ${status}` };
  }

  #get(cid: string, signal: AbortSignal) {
    const { base, headers, fetching } = this.#access;
    const init = { headers: { ...headers, accept: RAW_BLOCK }, signal, mostBytes: MAX_BLOB_BYTES };
    return boundedFetch(fetching, `${base}/ipfs/${cid}?format=raw`, init);
  }
}

class NotGiven extends Error {
  readonly given: Exclude<Given, { readonly kind: 'bytes' }>;

  constructor(given: Exclude<Given, { readonly kind: 'bytes' }>) {
    super(given.says);
    this.given = given;
  }
}
