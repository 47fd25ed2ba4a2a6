import type { NamedHash } from '../core/blob/ids.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import type { FetchFunction } from './bounded-fetch.ts';
import { ReaderError, type SourceOutcome } from './errors.ts';

export const SOURCE_KINDS = ['holdfast', 'sentinel', 'ipfs-gateway', 'node'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** A place to read blobs from. */
export interface SourceOptions {
  /**
   * `holdfast`: an archiver or `holdfast serve` · `sentinel`: a server with `/vh/` · `ipfs-gateway`: `/ipfs/<cid>` ·
   * `node`: JSON-RPC of a node, which has the current window only.
   */
  readonly kind: SourceKind;
  /** Base address, http:// or https://, which may carry user and password. */
  readonly url: string;
  /** Token, sent as `Authorization: Bearer`. */
  readonly token?: string;
}

/** Unverified answer of a source. */
export type FetchResult =
  | { readonly kind: 'bytes'; readonly candidates: readonly UnverifiedBlob[] }
  | { readonly kind: Exclude<SourceOutcome, 'lied'>; readonly says: string };

export interface BlobSource {
  readonly kind: SourceKind;
  /** The address without credentials. */
  readonly name: string;
  /** Fetches a blob by name. Rejects with the error of `fetch` when the source does not answer. */
  fetchBlob(name: NamedHash, signal: AbortSignal): Promise<FetchResult>;
  /** Resolves to one sentence about the source's state. Rejects when the source does not answer as its kind does. */
  ask(signal: AbortSignal): Promise<string>;
}

/** Address, headers and HTTP client of one source. */
export interface SourceAccess {
  readonly kind: SourceKind;
  readonly name: string;
  /** Base address without a trailing slash. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetching: FetchFunction;
}

/** @throws ReaderError `reader/bad-source`, without the address, which may hold a password */
export function accessTo({ kind, url, token }: SourceOptions, fetching: FetchFunction): SourceAccess {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.search !== '' || parsed.hash !== '') {
    throw new ReaderError(
      'reader/bad-source',
      `The address of a ${kind} source must be http:// or https://, without query and fragment.`,
      [],
      'Give its base address, like http://127.0.0.1:8080.',
    );
  }
  const { origin, username, password } = parsed;
  const base = `${origin}${parsed.pathname.replace(/\/+$/, '')}`;
  return { kind, name: base, base, headers: authorization(username, password, token), fetching };
}

function authorization(user: string, password: string, token: string | undefined): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (user === '' && password === '') return {};
  const bytes = new TextEncoder().encode(`${decodeURIComponent(user)}:${decodeURIComponent(password)}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}
