/** The bytes that a Range header asks for; `last` is included. */
export type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly first: number; readonly last: number }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: ByteRange = { kind: 'whole' };
const SINGLE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * RFC 9110, 14.1 and 14.2. A header that is malformed, has another unit or names several ranges is ignored, as the RFC
 * allows: the client then gets the whole, which is never wrong.
 */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange {
  const [, first, last] = (header === undefined ? null : SINGLE.exec(header)) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return WHOLE;
  if (first === '') return suffix(Number(last), sizeBytes);
  return span(Number(first), last === '' ? Number.POSITIVE_INFINITY : Number(last), sizeBytes);
}

function span(first: number, last: number, sizeBytes: number): ByteRange {
  if (last < first) return WHOLE;
  if (first >= sizeBytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', first, last: Math.min(last, sizeBytes - 1) };
}

/** The last so many bytes. */
function suffix(lengthBytes: number, sizeBytes: number): ByteRange {
  if (lengthBytes === 0 || sizeBytes === 0) return { kind: 'unsatisfiable' };
  return { kind: 'part', first: Math.max(sizeBytes - lengthBytes, 0), last: sizeBytes - 1 };
}
