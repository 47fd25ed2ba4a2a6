import type { ArchiveView } from '../archive/archive-view.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import { type Answer, bodyOf, IMMUTABLE, jsonAnswer } from './answer.ts';
import { missingAnswer, readBlob } from './blob-lookup.ts';
import { parseByteRange } from './byte-range.ts';
import { entityTagOf, isAlreadyThere, rangeStillHolds } from './entity-tag.ts';
import { LISTING_QUERY, NAMED_HASH, NOTHING } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { recordOnWire } from './record-on-wire.ts';
import { defineRoute, type Route, type RouteRequest } from './route.ts';

/** Blobs by version hash: bytes, record, listing. */
export function blobRoutes(view: ArchiveView): Route[] {
  return [
    defineRoute({
      path: '/v1/blobs/:versionHash',
      parameters: NAMED_HASH,
      query: NOTHING,
      async answer(request) {
        const name = request.parameters.versionHash;
        const lookup = await readBlob(view, name, request.signal);
        return lookup.kind === 'found' ? bytesAnswer(lookup.blob, request) : missingAnswer(lookup, name.versionHash);
      },
    }),
    defineRoute({
      path: '/v1/blobs/:versionHash/record',
      parameters: NAMED_HASH,
      query: NOTHING,
      async answer(request) {
        const name = request.parameters.versionHash;
        const lookup = await view.record(name, request.signal);
        return lookup.kind === 'found'
          ? jsonAnswer(recordOnWire(lookup.record))
          : missingAnswer(lookup, name.versionHash);
      },
    }),
    defineRoute({
      path: '/v1/blobs',
      parameters: NOTHING,
      query: LISTING_QUERY,
      answer(request) {
        const page = view.list(request.query);
        return jsonAnswer({ blobs: page.records.map(recordOnWire), next: page.next });
      },
    }),
  ];
}

/** Conditions in the order of RFC 9110 13.2.2. Parts are views of the same memory. */
function bytesAnswer(blob: VerifiedBlob, request: RouteRequest): Answer {
  const { bytes } = blob;
  const entityTag = entityTagOf(blob);
  const validators = { etag: entityTag, 'cache-control': IMMUTABLE };
  if (isAlreadyThere(request.header('if-none-match'), entityTag)) {
    return { status: 304, headers: validators, body: null };
  }
  const headers = { ...validators, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  const wanted = request.method === 'GET' && rangeStillHolds(request.header('if-range'), entityTag);
  const range = parseByteRange(wanted ? request.header('range') : undefined, bytes.length);
  switch (range.kind) {
    case 'whole':
      return { status: 200, headers, body: bodyOf(bytes) };
    case 'part':
      return {
        status: 206,
        headers: { ...headers, 'content-range': `bytes ${range.first}-${range.last}/${bytes.length}` },
        body: bodyOf(bytes.subarray(range.first, range.last + 1)),
      };
    case 'unsatisfiable':
      return problemAnswer('http/range-not-satisfiable', `The blob has ${bytes.length} bytes.`, {
        headers: { 'content-range': `bytes */${bytes.length}` },
      });
    default:
      return range satisfies never;
  }
}
