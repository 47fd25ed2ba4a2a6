import type { NamedHash } from '../core/blob/ids.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import type { FetchFunction } from './bounded-fetch.ts';
import { ReaderError, type SourceOutcome } from './errors.ts';

export const SOURCE_KINDS = ['holdfast', 'sentinel', 'ipfs-gateway', 'node'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Where blobs may be had. */
export interface SourceOptions {
  /**
   * `holdfast`: an archiver or `holdfast serve` · `sentinel`: whoever serves `/vh/` · `ipfs-gateway`: `/ipfs/<cid>` ·
   * `node`: JSON-RPC, which has the current window.
   */
  readonly kind: SourceKind;
  /** http:// or https://; may carry user and password. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string;
}

/** What a source gave, as it came: nothing of it is believed yet. */
export type Given =
  | { readonly kind: 'bytes'; readonly candidates: readonly UnverifiedBlob[] }
  | { readonly kind: Exclude<SourceOutcome, 'lied'>; readonly says: string };

export interface BlobSource {
  readonly kind: SourceKind;
  /** The address without credentials. */
  readonly name: string;
  /** Throws what `fetch` throws; that is no answer. */
  fetchBlob(name: NamedHash, signal: AbortSignal): Promise<Given>;
  /** One sentence about its state; throws when it does not answer as its kind does. */
  ask(signal: AbortSignal): Promise<string>;
}

/** Address, headers and the way to fetch, of one source. */
export interface SourceAccess {
  readonly kind: SourceKind;
  readonly name: string;
  /** Without a slash at the end. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetching: FetchFunction;
}

/** @throws ReaderError `reader/bad-source`; the address is not repeated, it may hold a password. */
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
