import * as z from 'zod/mini';
import { isAbsentAnswer } from '../core/blob/absent-answer.ts';
import { decodeHex } from '../core/blob/hex.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { boundedFetch, jsonIn } from './bounded-fetch.ts';
import type { BlobSource, FetchResult, SourceAccess } from './source.ts';

const REPLY = z.looseObject({
  result: z.unknown(),
  error: z.nullish(z.looseObject({ code: z.int(), message: z.string() })),
});
const BLOB = z.looseObject({ versionhash: z.string(), data: z.string() });
const ENVELOPE_BYTES = 65_536;

/** A layer-1 node, or any server with `getnevmblobdata`. A node knows only the current window. */
export class NodeSource implements BlobSource {
  readonly kind = 'node';
  readonly name: string;
  readonly #access: SourceAccess;

  constructor(access: SourceAccess) {
    this.name = access.name;
    this.#access = access;
  }

  async fetchBlob(name: NamedHash, signal: AbortSignal): Promise<FetchResult> {
    const reply = await this.#call('getnevmblobdata', [name.versionHash, true], signal);
    if (reply === 'too long') return { kind: 'bytes', candidates: [] };
    // The façade of an archive answers proved absence in a node's words.
    if (reply.error && isAbsentAnswer(reply.error)) return { kind: 'absent', says: reply.error.message };
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
      maxBytes: 2 * MAX_BLOB_BYTES + ENVELOPE_BYTES,
    });
    if (answer.isCut) return 'too long';
    const reply = REPLY.safeParse(jsonIn(answer));
    if (reply.success) return reply.data;
    throw new TypeError(`status ${answer.status} without a JSON-RPC answer`);
  }
}
