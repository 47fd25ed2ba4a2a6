import { parseBoundedJson } from '../blob/bounded-json.ts';

/** The part of `fetch` that is needed: tests and programs behind a proxy of their own give another. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchedBody {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** There was more than the limit; what is above it was not read. */
  readonly isCut: boolean;
}

/** One request with its whole body, of which no more than `mostBytes` is ever held. */
export async function boundedFetch(
  fetching: FetchFunction,
  url: string,
  init: RequestInit & { readonly mostBytes: number },
): Promise<FetchedBody> {
  const { mostBytes, ...request } = init;
  const response = await fetching(url, request);
  const contentType = response.headers.get('content-type') ?? '';
  const { bytes, isCut } = await readUpTo(response, mostBytes);
  return { status: response.status, contentType, bytes, isCut };
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
