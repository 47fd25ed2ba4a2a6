import { z } from 'zod';
import { parseBoundedJson } from '../../core/blob/bounded-json.ts';
import type { ContentName } from '../../core/blob/ids.ts';
import type { BackfillSource, SourceAnswer, ToldSize } from './backfill-source.ts';
import { candidatesOf } from './candidates.ts';
import { SourceError } from './errors.ts';
import { PEER, PeerHttp, type PeerOptions, type PeerReply } from './peer-http.ts';

/**
 * Protocol of a peer. `holdfast`: `/v1/blobs/<name>`, raw bytes, 404 with a code. `by-hash`: the hash is appended to
 * the address; the body is hex or raw bytes, and 200 with an empty body means absent, as Sentinel answers.
 */
type Manner = 'holdfast' | 'by-hash';

const ABSENT: SourceAnswer = { kind: 'absent' };
const LEFT_OUT: SourceAnswer = { kind: 'absent', byRule: true };
const RAW = 'application/octet-stream';
/** Sentinel gives hex whatever is asked for, Holdfast on the same route too unless raw bytes are asked for. */
const ANY = '*/*';
const HTML = 'text/html';
const JSON_TYPE = 'application/json';
const problem = z.object({ code: z.string() });

/** Another archive: a Holdfast, a Sentinel, or anything that serves bytes by hash. */
export class PeerSource implements BackfillSource {
  readonly name: string;
  readonly #http: PeerHttp;
  /** With the slash at its end. */
  #base: string;
  /** null: neither kind of answer has come yet. */
  #manner: Manner | null;

  /** An address with a path (`…/vh/`) gets the hash behind it; one without is a Holdfast, or what serves `/vh/`. */
  constructor(url: URL, options: PeerOptions = PEER, token: string | null = null) {
    this.#http = new PeerHttp(url, options, token);
    this.name = `peer ${this.#http.where}`;
    this.#base = `${this.#http.where}/`;
    this.#manner = url.pathname === '/' ? null : 'by-hash';
  }

  async find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    if (this.#manner === 'by-hash') return await this.#byHash(name, this.#base, signal);
    const reply = await this.#http.ask('GET', this.#holdfastUrl(name), RAW, signal);
    const isOurs = codeIn(reply) !== null || (reply.status === 200 && reply.contentType.startsWith(RAW));
    if (this.#manner === null && !isOurs && reply.status < 500) {
      // The peer is no Holdfast; Sentinel and its imitators serve this path.
      return await this.#byHash(name, this.#where('vh/'), signal);
    }
    if (isOurs) this.#manner = 'holdfast';
    return reply.status === 200 ? this.#bytesOf(reply) : this.#withoutBytes(reply);
  }

  async size(name: ContentName, signal: AbortSignal): Promise<ToldSize> {
    if (this.#manner === 'by-hash') return 'untold';
    const reply = await this.#http.ask('HEAD', this.#holdfastUrl(name), RAW, signal);
    if (reply.status === 200) return reply.lengthBytes ?? 'unknown';
    // A HEAD has no body that says what is missing, or whether a Holdfast answers.
    const answer = await this.find(name, signal);
    if (answer.kind === 'absent') return null;
    return answer.kind === 'withheld' ? 'withheld' : 'unknown';
  }

  async question(path: string, signal: AbortSignal): Promise<unknown> {
    if (this.#manner === 'by-hash') return null;
    const reply = await this.#http.ask('GET', `${this.#base}${path}`, JSON_TYPE, signal);
    if (reply.status === 200 && reply.contentType.startsWith(JSON_TYPE)) return this.#jsonOf(reply);
    if (reply.status === 200 || reply.status === 404) return null;
    throw this.#refusal(reply);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  #holdfastUrl({ hashType, versionHash }: ContentName): string {
    return `${this.#base}v1/blobs/${hashType === 'blake2s256' ? `01${versionHash}` : versionHash}`;
  }

  async #byHash({ versionHash }: ContentName, base: string, signal: AbortSignal): Promise<SourceAnswer> {
    const reply = await this.#http.ask('GET', `${base}${versionHash}`, ANY, signal);
    if (reply.status !== 200) return this.#withoutBytes(reply);
    if (isPage(reply)) throw this.#strange(reply);
    this.#served(base);
    return reply.body.length === 0 ? ABSENT : this.#bytesOf(reply);
  }

  #withoutBytes(reply: PeerReply): SourceAnswer {
    switch (reply.status) {
      case 404:
      case 410:
        // Only a configured address can prove absence by its status: a guessed path may not be served at all.
        if (this.#manner === 'by-hash' || isAbsence(codeIn(reply))) return ABSENT;
        throw this.#strange(reply);
      case 421:
        // The rule of its operator keeps it from having the bytes: it answers that it has not got them.
        if (codeIn(reply) === 'blob/not-archived-by-rule') return LEFT_OUT;
        throw this.#refusal(reply);
      case 451:
        return { kind: 'withheld' };
      default:
        throw this.#refusal(reply);
    }
  }

  #where(path: string): string {
    return this.#base.endsWith(path) ? this.#base : `${this.#base}${path}`;
  }

  /** The peer answers at this address, which is used from now on. */
  #served(base: string): void {
    this.#base = base;
    this.#manner = 'by-hash';
  }

  #bytesOf(reply: PeerReply): SourceAnswer {
    if (isPage(reply)) throw this.#strange(reply);
    return { kind: 'bytes', candidates: candidatesOf(reply.body) };
  }

  #jsonOf(reply: PeerReply): unknown {
    try {
      return parseBoundedJson(Buffer.from(reply.body).toString('utf8'));
    } catch {
      throw this.#strange(reply);
    }
  }

  #strange({ status, contentType }: PeerReply): SourceError {
    const what = contentType === '' ? '' : ` and ${contentType.split(';')[0]}`;
    return new SourceError('source/bad-answer', `${this.#http.where} answers ${status}${what}, as no archive does.`, {
      details: { where: this.#http.where, status },
      retryable: false,
      hint: 'Is that the address of an archive? Give it like peer=https://archive.example or peer=https://old.example/vh/.',
    });
  }

  #refusal({ status }: PeerReply): SourceError {
    const { where } = this.#http;
    const details = { where, status };
    if (status === 401 || status === 403) {
      return new SourceError('source/denied', `${where} does not let us read (HTTP ${status}).`, {
        details,
        retryable: false,
        hint: 'Put the user and password that it wants into the address, like peer=https://user:password@archive.example. A peer in the configuration file can have a token instead.',
      });
    }
    if (status === 429 || status >= 500) {
      return new SourceError('source/busy', `${where} cannot answer now (HTTP ${status}).`, {
        details,
        retryable: true,
        hint: 'It is asked again; fewer --requests may help. What it did not answer is not absent.',
      });
    }
    return new SourceError('source/bad-answer', `${where} answers ${status}, as no archive does.`, {
      details,
      retryable: false,
      hint: 'Give the address that it answers at, not one that redirects.',
    });
  }
}

/** Sentinel calls its hex text HTML as well: a page begins with a bracket. */
function isPage({ contentType, body }: PeerReply): boolean {
  return (
    contentType.startsWith(HTML) && Buffer.from(body.subarray(0, 256)).toString('latin1').trimStart().startsWith('<')
  );
}

/** The code of a problem as our archives answer it; null: it is none. */
function codeIn({ contentType, body }: PeerReply): string | null {
  if (!contentType.startsWith('application/problem+json')) return null;
  try {
    const parsed = problem.safeParse(parseBoundedJson(Buffer.from(body).toString('utf8')));
    return parsed.success ? parsed.data.code : null;
  } catch {
    return null;
  }
}

/** Proven absent, or known to be lost there. A missing route is neither. */
function isAbsence(code: string | null): boolean {
  return code === 'blob/absent' || code === 'blob/lost';
}
