import * as z from 'zod/mini';
import { decodeHex } from '../core/blob/hex.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import { boundedFetch, jsonIn } from './bounded-fetch.ts';
import type { BlobSource, FetchResult, SourceAccess } from './source.ts';

/** Extra characters around the hex text that are accepted: a 0x prefix and a line end. */
const SLACK_CHARS = 16;
const ABSENT = z.looseObject({ code: z.literal('blob/absent') });

/**
 * A server with `GET /vh/<version hash>` that answers in hex text. Sentinel answers 200 with an empty body for a
 * missing blob.
 */
export class SentinelSource implements BlobSource {
  readonly kind = 'sentinel';
  readonly name: string;
  readonly #access: SourceAccess;

  constructor(access: SourceAccess) {
    this.name = access.name;
    this.#access = access;
  }

  async fetchBlob(name: NamedHash, signal: AbortSignal): Promise<FetchResult> {
    const { base, headers, fetching } = this.#access;
    const url = `${base}/vh/${name.versionHash}`;
    const answer = await boundedFetch(fetching, url, { headers, signal, maxBytes: 2 * MAX_BLOB_BYTES + SLACK_CHARS });
    if (answer.isCut) return { kind: 'bytes', candidates: [] };
    if (answer.status === 200 && answer.bytes.length === 0) return { kind: 'absent', says: 'an empty answer' };
    if (answer.status === 200) return { kind: 'bytes', candidates: candidatesIn(answer.bytes, name) };
    if (answer.status === 404 && ABSENT.safeParse(jsonIn(answer)).success)
      return { kind: 'absent', says: 'no such blob' };
    return { kind: 'no-answer', says: `status ${answer.status}` };
  }

  async ask(signal: AbortSignal): Promise<string> {
    const { base, headers, fetching } = this.#access;
    const { status, bytes } = await boundedFetch(fetching, `${base}/lastblock`, { headers, signal, maxBytes: 65_536 });
    const text = new TextDecoder().decode(bytes).trim();
    if (status !== 200 || !/^"?[0-9a-f]{64}"?$/i.test(text)) throw new TypeError(`status ${status}, no block hash`);
    return `last block ${text.replaceAll('"', '')}`;
  }
}

/** Candidates in an answer: hex text, or raw bytes as some servers send. The hash decides between them. */
function candidatesIn(body: Uint8Array, name: NamedHash): UnverifiedBlob[] {
  const raw = body.length <= MAX_BLOB_BYTES ? [{ ...name, bytes: body }] : [];
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body).trim().replace(/^0x/i, '');
    return [{ ...name, bytes: decodeHex(text) }, ...raw];
  } catch {
    return raw;
  }
}
