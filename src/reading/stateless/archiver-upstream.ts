import { Pool } from 'undici';
import { z } from 'zod';
import { publicReasonIn } from '../../catalog/withheld-document.ts';
import { parseBoundedJson } from '../../core/blob/bounded-json.ts';
import { messageOf } from '../../core/blob/errors.ts';
import type { NamedHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { decodeOccurrenceRecord } from '../../verify/decode-occurrence-record.ts';
import { VerifyError } from '../../verify/errors.ts';
import type { OccurrenceRecord } from '../../verify/occurrence-record.ts';
import type { Verifier } from '../../verify/verified-blob.ts';
import type { NotGiven, Unavailable } from '../../view/archive-view.ts';
import type { ProofLookup } from '../../view/chain-view.ts';
import type { BlobLookup } from '../proven-reader.ts';

export interface UpstreamOptions {
  /** Address of the archiver's API; a path in it is kept. */
  readonly url: string;
  /** Token for an archiver that requires one for reading. */
  readonly token: string | null;
}

const CONNECTIONS = 32;
const TIMEOUT_MS = 30_000;
/** A page of occurrences, and what is known of each backend. */
const RECORD_BYTES = 4 * 1_048_576;
const PROOF_BYTES = 16 * 1_048_576;
const HEALTH_BYTES = 65_536;
const PROBLEM = z.looseObject({
  code: z.string(),
  recordedAt: z.string().optional(),
  sources: z.array(z.string()).optional(),
  publicReason: z.unknown().optional(),
  since: z.string().optional(),
  rule: z.string().optional(),
});
const PROOFS = z.object({ records: z.array(z.unknown()).max(64) });

/** An archiver's record of a blob, not decoded: the room `http` knows its format. */
export type RecordAnswer = { readonly kind: 'found'; readonly json: unknown } | NotGiven;

interface Answered {
  readonly status: number;
  readonly retryAfterSeconds: number;
  readonly body: Uint8Array;
}

/** The archiver, asked for what the backends have not got (yet): its local store may have it. Believed in nothing. */
export class ArchiverUpstream {
  readonly #pool: Pool;
  /** A look waits behind no blobs: a busy reader would call its archiver away. */
  readonly #looks: Pool;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #verifier: Verifier;
  /** Nothing was heard of it when it was asked last. */
  isAway = false;

  constructor({ url, token }: UpstreamOptions, verifier: Verifier) {
    const { origin, pathname } = new URL(url);
    const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
    this.#pool = new Pool(origin, { connections: CONNECTIONS, ...timeouts });
    this.#looks = new Pool(origin, { connections: 1, ...timeouts });
    this.#path = pathname.replace(/\/+$/, '');
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` };
    this.#verifier = verifier;
  }

  async read(name: NamedHash, signal: AbortSignal): Promise<BlobLookup> {
    const answered = await this.#get(`/v1/blobs/${spelled(name)}`, MAX_BLOB_BYTES, signal);
    if (answered.status !== 200) return meaningOf(answered);
    const blob = await this.#verifier.verify({ ...name, bytes: answered.body });
    if (blob === null) return unavailable('damaged', 'The archiver gave bytes that are not these.', 10);
    return { kind: 'found', blob };
  }

  async proofs(name: NamedHash, signal: AbortSignal): Promise<ProofLookup> {
    const answered = await this.#get(`/v1/blobs/${spelled(name)}/proof`, PROOF_BYTES, signal);
    const meaning = answered.status === 200 ? null : meaningOf(answered);
    if (meaning?.kind === 'not-archived-by-rule') return meaning;
    if (meaning !== null && meaning.kind !== 'unavailable') return { kind: 'absent' };
    if (meaning !== null) return { ...meaning, reason: 'not-final' };
    const records = recordsIn(answered.body);
    if (records !== null) return { kind: 'found', records };
    return {
      kind: 'unavailable',
      reason: 'store-fault',
      message: 'The archiver gave no records.',
      retryAfterSeconds: 10,
    };
  }

  /** Learns whether the archiver answers. 5xx comes from a balancer before it: an archiver that lives says 200 here. */
  async look(signal: AbortSignal): Promise<void> {
    const answered = await this.#get('/healthz', HEALTH_BYTES, signal, this.#looks).catch(() => null);
    this.isAway = answered === null || answered.status === 0 || answered.status >= 500;
  }

  /** A claim, which no proof goes with. `after`: the page of its occurrences. */
  async record(name: NamedHash, after: string | undefined, signal: AbortSignal): Promise<RecordAnswer> {
    const query = after === undefined ? '' : `?${new URLSearchParams({ after })}`;
    const answered = await this.#get(`/v1/blobs/${spelled(name)}/record${query}`, RECORD_BYTES, signal);
    return answered.status === 200 ? { kind: 'found', json: jsonOf(answered.body) } : meaningOf(answered);
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#looks.destroy()]);
  }

  /** Status 0: it did not answer. */
  async #get(path: string, maxBytes: number, signal: AbortSignal, pool = this.#pool): Promise<Answered> {
    try {
      const answer = await pool.request({
        method: 'GET',
        path: `${this.#path}${path}`,
        headers: this.#headers,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const retryAfterSeconds = Number(answer.headers['retry-after'] ?? 5);
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for await (const part of answer.body) {
        const chunk = z.instanceof(Uint8Array).parse(part);
        bytes += chunk.length;
        if (bytes > maxBytes) throw new RangeError(`the archiver sent more than ${maxBytes} bytes`);
        parts.push(chunk);
      }
      this.isAway = false;
      const body = new Uint8Array(bytes);
      let at = 0;
      for (const part of parts) {
        body.set(part, at);
        at += part.length;
      }
      return { status: answer.statusCode, retryAfterSeconds, body };
    } catch (error) {
      signal.throwIfAborted();
      this.isAway = true;
      return { status: 0, retryAfterSeconds: 10, body: Buffer.from(messageOf(error)) };
    }
  }
}

/** The form that says the hash type as well, where it is known. */
function spelled({ versionHash, hashType }: NamedHash): string {
  return hashType === 'blake2s256' ? `01${versionHash}` : versionHash;
}

/** Only in the archiver's own words: a balancer in between says 404 for reasons of its own. */
function meaningOf({ status, retryAfterSeconds, body }: Answered): NotGiven {
  const problem = PROBLEM.safeParse(jsonOf(body));
  const {
    code = '',
    recordedAt = '',
    sources = [],
    publicReason,
    since = '',
    rule = '',
  } = problem.success ? problem.data : {};
  if (status === 404 && code === 'blob/absent') return { kind: 'absent' };
  if (status === 410 && code === 'blob/lost') return { kind: 'lost', loss: { recordedAt, sources } };
  if (status === 451) return { kind: 'withheld', at: null, publicReason: publicReasonIn(publicReason) };
  if (status === 421 && code === 'blob/not-archived-by-rule') return { kind: 'not-archived-by-rule', since, rule };
  const says = status === 0 ? 'does not answer' : 'cannot tell now';
  return unavailable('cannot-tell', `No backend has it, and the archiver ${says}.`, retryAfterSeconds);
}

function recordsIn(body: Uint8Array): OccurrenceRecord[] | null {
  const proofs = PROOFS.safeParse(jsonOf(body));
  if (!proofs.success) return null;
  try {
    return proofs.data.records.map(decodeOccurrenceRecord);
  } catch (error) {
    if (error instanceof VerifyError) return null;
    throw error;
  }
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return parseBoundedJson(new TextDecoder().decode(body));
  } catch {
    return null;
  }
}

function unavailable(reason: Unavailable['reason'], message: string, retryAfterSeconds: number): Unavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
