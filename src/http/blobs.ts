import { z } from 'zod';
import type { ContentName } from '../core/blob/ids.ts';
import type { ArchiveView, NotGiven, Reader } from '../view/archive-view.ts';
import { type Answer, IMMUTABLE, jsonAnswer } from './answer.ts';
import { missingAnswer } from './blob-lookup.ts';
import { parseByteRange } from './byte-range.ts';
import { entityTagOf, isAlreadyThere, rangeStillHolds } from './entity-tag.ts';
import { dropGiven, type Given, givenBody, nameOf, sizeOf } from './given-body.ts';
import { LISTING_QUERY, NAMED_HASH, NOTHING, RECORD_QUERY, recordsAskedFor } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import type { ProblemCode } from './problem-table.ts';
import { LISTED_RECORD, listedOnWire, RECORD, recordOnWire } from './record-on-wire.ts';
import { defineRoute, type GoodAnswer, type Route, type RouteRequest } from './route.ts';

export const LOOKUP_PROBLEMS: readonly ProblemCode[] = [
  'malformed/version-hash',
  'blob/absent',
  'blob/withheld',
  'blob/not-archived-by-rule',
  'blob/not-fetched-yet',
  'blob/damaged',
  'blob/store-fault',
  'blob/cannot-tell',
];

/** A record with sixteen occurrences, and its text. */
const RECORD_WEIGHT_BYTES = 4_096;
/** Records of a page that take as long as a small request. */
const RECORDS_A_REQUEST = 10;

const OCTETS = { mediaType: 'application/octet-stream', schema: null } as const;
/** The description of routes that answer `bytesAnswer`. */
export const BYTES_ANSWERS: readonly GoodAnswer[] = [
  OCTETS,
  { ...OCTETS, status: 206 },
  { status: 304, mediaType: null, schema: null },
];

/** The bytes alone: what a reader without a catalog answers as well. */
export function bytesRoute(reader: Reader): Route {
  return defineRoute({
    path: '/v1/blobs/:versionHash',
    says: 'The bytes of a blob, by version hash.',
    answers: BYTES_ANSWERS,
    problems: [...LOOKUP_PROBLEMS, 'blob/lost', 'http/range-not-satisfiable'],
    parameters: NAMED_HASH,
    query: NOTHING,
    async answer(request) {
      const name = request.parameters.versionHash;
      return bytesAnswer(await reader.open(name, request), name, request);
    },
  });
}

/** Blobs by version hash: bytes, record, listing. */
export function blobRoutes(view: ArchiveView): Route[] {
  return [
    bytesRoute(view.reader),
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
        return lookup.kind === 'found'
          ? jsonAnswer(recordOnWire(lookup.record))
          : missingAnswer(lookup, name.versionHash);
      },
    }),
    defineRoute({
      path: '/v1/blobs',
      says: 'The records of all blobs, page by page, newest or oldest first.',
      answers: [
        {
          mediaType: 'application/json',
          schema: z.object({ blobs: z.array(LISTED_RECORD), next: z.string().nullable() }),
        },
      ],
      problems: ['archive/bad-cursor'],
      countRequests: ({ query }) => recordsAskedFor(query) / RECORDS_A_REQUEST,
      parameters: NOTHING,
      query: LISTING_QUERY,
      async answer(request) {
        await request.hold(request.query.limit * RECORD_WEIGHT_BYTES);
        const page = view.list(request.query);
        return jsonAnswer({ blobs: page.records.map(listedOnWire), next: page.next });
      },
    }),
  ];
}

/** Answers with the bytes, or says why there are none. Conditions in the order of RFC 9110 13.2.2. */
export function bytesAnswer(
  given: Given | NotGiven,
  { versionHash }: Pick<ContentName, 'versionHash'>,
  request: Pick<RouteRequest, 'method' | 'header'>,
): Answer {
  if (given.kind !== 'memory' && given.kind !== 'file') return missingAnswer(given, versionHash);
  const sizeBytes = sizeOf(given);
  const entityTag = entityTagOf(nameOf(given));
  const validators = { etag: entityTag, 'cache-control': IMMUTABLE };
  if (isAlreadyThere(request.header('if-none-match'), entityTag)) {
    dropGiven(given);
    return { status: 304, headers: validators, body: null };
  }
  const headers = { ...validators, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  const wanted = request.method === 'GET' && rangeStillHolds(request.header('if-range'), entityTag);
  const range = parseByteRange(wanted ? request.header('range') : undefined, sizeBytes);
  switch (range.kind) {
    case 'whole':
      return {
        status: 200,
        headers,
        body: givenBody(given, { first: 0, lengthBytes: sizeBytes, asHex: false }),
      };
    case 'part': {
      const { first, last } = range;
      return {
        status: 206,
        headers: { ...headers, 'content-range': `bytes ${first}-${last}/${sizeBytes}` },
        body: givenBody(given, { first, lengthBytes: last - first + 1, asHex: false }),
      };
    }
    case 'unsatisfiable':
      dropGiven(given);
      return unsatisfiable(sizeBytes);
    default:
      return range satisfies never;
  }
}

function unsatisfiable(sizeBytes: number): Answer {
  return problemAnswer('http/range-not-satisfiable', `The blob has ${sizeBytes} bytes.`, {
    headers: { 'content-range': `bytes */${sizeBytes}` },
  });
}
