import { parseBoundedJson } from '../core/blob/bounded-json.ts';

/** The part of `fetch` that the reader needs. Tests and programs behind a proxy inject their own. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchedBody {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** true when the body exceeded the limit; the rest was not read. */
  readonly isCut: boolean;
}

/** Redirects that one request follows, all within the origin. */
const MAX_REDIRECTS = 3;

/**
 * Sends one request and reads its body, holding at most `maxBytes` of it. A GET follows redirects within its origin.
 * The caller handles redirects to another origin and redirects of a POST.
 * @throws TypeError for a redirect that is not followed, and whatever `fetch` throws
 */
export async function boundedFetch(
  fetching: FetchFunction,
  url: string,
  init: RequestInit & { readonly maxBytes: number },
): Promise<FetchedBody> {
  const { maxBytes, ...request } = init;
  const response = await fetchWithin(fetching, url, request);
  const contentType = response.headers.get('content-type') ?? '';
  const { bytes, isCut } = await readUpTo(response, maxBytes);
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
      throw new TypeError(`it redirects${where}, which Holdfast does not follow; name the final address`);
    }
    at = to.href;
  }
  throw new TypeError(`it redirects more than ${MAX_REDIRECTS} times`);
}

/** Recognises a redirect. A browser shows a redirect that it did not follow as an opaque response. */
function isRedirect({ status, type }: Response): boolean {
  return type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);
}

async function readUpTo({ body, headers }: Response, maxBytes: number) {
  const reader = body?.getReader();
  if (reader === undefined) return { bytes: new Uint8Array(), isCut: false };
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    await reader.cancel();
    return { bytes: new Uint8Array(), isCut: true };
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joined(parts, length), isCut: false };
    length += value.length;
    if (length > maxBytes) {
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

/** Parses a body as JSON. null: the body is not JSON in UTF-8, or is too deeply nested. */
export function jsonIn({ bytes }: Pick<FetchedBody, 'bytes'>): unknown {
  try {
    return parseBoundedJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}
