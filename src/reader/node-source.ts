import * as z from 'zod/mini';
import { decodeHex } from '../core/blob/hex.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { boundedFetch, jsonIn } from './bounded-fetch.ts';
import type { BlobSource, Given, SourceAccess } from './source.ts';

const REPLY = z.looseObject({
  result: z.unknown(),
  error: z.nullish(z.looseObject({ code: z.int(), message: z.string() })),
});
const BLOB = z.looseObject({ versionhash: z.string(), data: z.string() });
const ENVELOPE_BYTES = 65_536;
/** What a node says of a blob that it has not (recorded), and an archive's façade of what is proved absent. */
const ABSENT = -32_602;
/** The same code also says that a transaction could not be read, which denies nothing. */
const NOT_FOUND = 'Could not find blob information';

/** A layer-1 node, or whoever answers `getnevmblobdata` like one. It knows the current window alone. */
export class NodeSource implements BlobSource {
  readonly kind = 'node';
  readonly name: string;
  readonly #access: SourceAccess;

  constructor(access: SourceAccess) {
    this.name = access.name;
    this.#access = access;
  }

  async fetchBlob(name: NamedHash, signal: AbortSignal): Promise<Given> {
    const reply = await this.#call('getnevmblobdata', [name.versionHash, true], signal);
    if (reply === 'too long') return { kind: 'bytes', candidates: [] };
    if (reply.error?.code === ABSENT && reply.error.message.startsWith(NOT_FOUND))
      return { kind: 'absent', says: reply.error.message };
    if (reply.error) return { kind: 'no-answer', says: `error ${reply.error.code}: ${reply.error.message}` };
    const blob = BLOB.safeParse(reply.result);
    if (!blob.success) return { kind: 'no-answer', says: 'no blob in its answer' };
    try {
      return { kind: 'bytes', candidates: [{ ...name, bytes: decodeHex(blob.data.data) }] };
    } catch {
      return { kind: 'bytes', candidates: [] };
    }
  }

  async ask(signal: AbortSignal): Promise<string> {
    const reply = await this.#call('getblockcount', [], signal);
    if (reply === 'too long' || typeof reply.result !== 'number') throw new TypeError('no block count in its answer');
    return `height ${reply.result}`;
  }

  async #call(method: string, params: readonly unknown[], signal: AbortSignal) {
    const { base, headers, fetching } = this.#access;
    const answer = await boundedFetch(fetching, `${base}/`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/plain' },
      body: JSON.stringify({ jsonrpc: '1.0', id: 'holdfast', method, params }),
      signal,
      mostBytes: 2 * MAX_BLOB_BYTES + ENVELOPE_BYTES,
    });
    if (answer.isCut) return 'too long';
    const reply = REPLY.safeParse(jsonIn(answer));
    if (reply.success) return reply.data;
    throw new TypeError(`status ${answer.status} without a JSON-RPC answer`);
  }
}
