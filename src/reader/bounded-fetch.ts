import { parseBoundedJson } from '../core/blob/bounded-json.ts';

/** The part of `fetch` that is needed: tests and programs behind a proxy of their own give another. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchedBody {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** There was more than the limit; what is above it was not read. */
  readonly isCut: boolean;
}

/** A source may answer under another path of its own, not elsewhere: so often at most. */
const MAX_REDIRECTS = 3;

/**
 * One request with its whole body, of which no more than `mostBytes` is ever held. A GET follows redirects within its
 * origin; another origin, or the body of a POST sent again, is for the caller to decide.
 * @throws TypeError for a redirect that is not followed, and whatever `fetch` throws
 */
export async function boundedFetch(
  fetching: FetchFunction,
  url: string,
  init: RequestInit & { readonly mostBytes: number },
): Promise<FetchedBody> {
  const { mostBytes, ...request } = init;
  const response = await fetchWithin(fetching, url, request);
  const contentType = response.headers.get('content-type') ?? '';
  const { bytes, isCut } = await readUpTo(response, mostBytes);
  return { status: response.status, contentType, bytes, isCut };
}

async function fetchWithin(fetching: FetchFunction, url: string, request: RequestInit): Promise<Response> {
  const { origin } = new URL(url);
  let at = url;
  for (let followed = 0; followed <= MAX_REDIRECTS; followed += 1) {
    const response = await fetching(at, { ...request, redirect: 'manual' });
    if (!isRedirect(response)) return response;
    await response.body?.cancel();
    const to = URL.parse(response.headers.get('location') ?? '', at);
    const where = to === null ? '' : ` to ${to.origin}`;
    if (to?.origin !== origin || (request.method ?? 'GET') !== 'GET') {
      throw new TypeError(`it redirects${where}, which is not followed; name the address that answers itself`);
    }
    at = to.href;
  }
  throw new TypeError('it redirects again and again');
}

/** A browser shows a redirect that it does not follow as an opaque one. */
function isRedirect({ status, type }: Response): boolean {
  return type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);
}

async function readUpTo({ body, headers }: Response, mostBytes: number) {
  const reader = body?.getReader();
  if (reader === undefined) return { bytes: new Uint8Array(), isCut: false };
  if (Number(headers.get('content-length') ?? 0) > mostBytes) {
    await reader.cancel();
    return { bytes: new Uint8Array(), isCut: true };
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joined(parts, length), isCut: false };
    length += value.length;
    if (length > mostBytes) {
      await reader.cancel();
      return { bytes: new Uint8Array(), isCut: true };
    }
    parts.push(value);
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** null: it is no JSON in UTF-8, or more than any answer has. */
export function jsonIn({ bytes }: Pick<FetchedBody, 'bytes'>): unknown {
  try {
    return parseBoundedJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}
