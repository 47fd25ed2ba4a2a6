import { z } from 'zod';
import type { ArchiveView } from '../view/archive-view.ts';
import type { ChainView } from '../view/chain-view.ts';
import { type Answer, bodyOf, IMMUTABLE, jsonAnswer } from './answer.ts';
import { notThere } from './blob-lookup.ts';
import { parseByteRange } from './byte-range.ts';
import { entityTagOf, isAlreadyThere, rangeStillHolds } from './entity-tag.ts';
import { fileBody } from './file-body.ts';
import { LISTING_QUERY, NAMED_HASH, NOTHING, RECORD_QUERY, recordsAskedFor } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import type { ProblemCode } from './problem-table.ts';
import { RECORD, recordOnWire } from './record-on-wire.ts';
import { defineRoute, type GoodAnswer, type Route, type RouteRequest } from './route.ts';
import type { BlobBytes, ServedBytes } from './served-bytes.ts';

export const LOOKUP_PROBLEMS: readonly ProblemCode[] = [
  'malformed/version-hash',
  'blob/absent',
  'blob/withheld',
  'blob/not-fetched-yet',
  'blob/damaged',
  'blob/store-fault',
  'blob/cannot-tell',
];

/** A record with sixteen occurrences, and its text. */
const RECORD_WEIGHT_BYTES = 4_096;
/** So many records of a page take as long as a small request. */
const RECORDS_A_REQUEST = 10;

const OCTETS = { mediaType: 'application/octet-stream', schema: null } as const;
/** Of routes that answer `bytesAnswer`. */
export const BYTES_ANSWERS: readonly GoodAnswer[] = [
  OCTETS,
  { ...OCTETS, status: 206 },
  { status: 304, mediaType: null, schema: null },
];

/** The bytes alone: what a reader without a catalog answers as well. */
export function bytesRoute(bytes: BlobBytes, chain: Pick<ChainView, 'lost'>): Route {
  return defineRoute({
    path: '/v1/blobs/:versionHash',
    says: 'The bytes of a blob, by version hash.',
    answers: BYTES_ANSWERS,
    problems: [...LOOKUP_PROBLEMS, 'blob/lost', 'http/range-not-satisfiable'],
    parameters: NAMED_HASH,
    query: NOTHING,
    async answer(request) {
      const name = request.parameters.versionHash;
      const found = await bytes.find(name, request);
      return found.kind === 'missing' ? notThere(chain, name, found.lookup) : bytesAnswer(found, request);
    },
  });
}

/** Blobs by version hash: bytes, record, listing. */
export function blobRoutes(view: ArchiveView, chain: ChainView, bytes: BlobBytes): Route[] {
  return [
    bytesRoute(bytes, chain),
    defineRoute({
      path: '/v1/blobs/:versionHash/record',
      says: 'What is known of a blob: states, replicas, and where it is on the chain, a page of it at a time.',
      answers: [{ mediaType: 'application/json', schema: RECORD }],
      problems: [...LOOKUP_PROBLEMS, 'blob/lost'],
      parameters: NAMED_HASH,
      query: RECORD_QUERY,
      async answer(request) {
        const name = request.parameters.versionHash;
        const lookup = await view.record(name, request.signal, request.query.after);
        return lookup.kind === 'found' ? jsonAnswer(recordOnWire(lookup.record)) : notThere(chain, name, lookup);
      },
    }),
    defineRoute({
      path: '/v1/blobs',
      says: 'The records of all blobs, page by page, newest or oldest first.',
      answers: [
        { mediaType: 'application/json', schema: z.object({ blobs: z.array(RECORD), next: z.string().nullable() }) },
      ],
      problems: ['archive/bad-cursor'],
      countRequests: ({ query }) => recordsAskedFor(query) / RECORDS_A_REQUEST,
      parameters: NOTHING,
      query: LISTING_QUERY,
      async answer(request) {
        await request.hold(request.query.limit * RECORD_WEIGHT_BYTES);
        const page = view.list(request.query);
        return jsonAnswer({ blobs: page.records.map(recordOnWire), next: page.next });
      },
    }),
  ];
}

/** Conditions in the order of RFC 9110 13.2.2. */
export function bytesAnswer(served: ServedBytes, request: Pick<RouteRequest, 'method' | 'header'>): Answer {
  const { sizeBytes } = served;
  const entityTag = entityTagOf(served);
  const validators = { etag: entityTag, 'cache-control': IMMUTABLE };
  if (isAlreadyThere(request.header('if-none-match'), entityTag)) {
    dropBytes(served);
    return { status: 304, headers: validators, body: null };
  }
  const headers = { ...validators, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  const wanted = request.method === 'GET' && rangeStillHolds(request.header('if-range'), entityTag);
  const range = parseByteRange(wanted ? request.header('range') : undefined, sizeBytes);
  switch (range.kind) {
    case 'whole':
      return { status: 200, headers, body: spanOf(served, 0, sizeBytes) };
    case 'part':
      return {
        status: 206,
        headers: { ...headers, 'content-range': `bytes ${range.first}-${range.last}/${sizeBytes}` },
        body: spanOf(served, range.first, range.last + 1),
      };
    case 'unsatisfiable':
      dropBytes(served);
      return unsatisfiable(sizeBytes);
    default:
      return range satisfies never;
  }
}

/** Parts of memory are views of it. */
function spanOf(served: ServedBytes, first: number, end: number): NonNullable<Answer['body']> {
  if (served.kind === 'memory') return bodyOf(served.blob.bytes.subarray(first, end));
  return fileBody(served.file, { first, lengthBytes: end - first, partBytes: served.partBytes, asHex: false });
}

function dropBytes(served: ServedBytes): void {
  if (served.kind === 'file') served.file.close();
}

function unsatisfiable(sizeBytes: number): Answer {
  return problemAnswer('http/range-not-satisfiable', `The blob has ${sizeBytes} bytes.`, {
    headers: { 'content-range': `bytes */${sizeBytes}` },
  });
}
