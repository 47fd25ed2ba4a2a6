import { z } from 'zod';
import type { NamedHash } from '../core/blob/ids.ts';
import type { Asking, Reader } from '../view/archive-view.ts';
import type { ChainView } from '../view/chain-view.ts';
import { type Answer, IMMUTABLE, jsonAnswer, textAnswer } from './answer.ts';
import { cannotTellAnswer, missingForClients } from './blob-lookup.ts';
import { LOOKUP_PROBLEMS } from './blobs.ts';
import { givenBody, sizeOf } from './given-body.ts';
import { prefersRawBytes } from './media-preference.ts';
import { BARE_HASH, CHECKED_HASHES, FORMAT_QUERY, KECCAK_COMMITMENT, NOTHING } from './parameters.ts';
import { definePostRoute, defineRoute, type Route } from './route.ts';

/** A client that knows no hex gets this base path, and appends to it what others append to the address. */
const RAW_BASE = '/raw';
export const CHECK_PATHS = ['/check_vh', `${RAW_BASE}/check_vh`] as const;

/**
 * The contracts of clients that exist. One of them ignores the status and takes the body for hex; an empty body makes it
 * drop the batch for ever. So no GET here is ever answered without a body: no 304, no parts, and errors are JSON, which
 * is not hex.
 */
export function clientBytesRoutes(reader: Reader): Route[] {
  const answer = async (name: NamedHash, asHex: boolean, request: Asking): Promise<Answer> => {
    const given = await reader.open(name, request);
    if (given.kind !== 'memory' && given.kind !== 'file') return missingForClients(given, name.versionHash);
    return {
      status: 200,
      headers: {
        'content-type': asHex ? 'text/plain' : 'application/octet-stream',
        'cache-control': IMMUTABLE,
        vary: 'accept',
      },
      body: givenBody(given, { first: 0, lengthBytes: sizeOf(given), asHex }),
    };
  };
  const octets = {
    answers: [{ mediaType: 'application/octet-stream', schema: null }],
    problems: LOOKUP_PROBLEMS,
    query: NOTHING,
  } as const;
  return [
    defineRoute({
      path: '/vh/:versionHash',
      says: 'The bytes of a blob as hex text, or raw on Accept: application/octet-stream or ?format=raw.',
      answers: [{ mediaType: 'text/plain', schema: null }, ...octets.answers],
      problems: LOOKUP_PROBLEMS,
      parameters: BARE_HASH,
      query: FORMAT_QUERY,
      answer(request) {
        const { format } = request.query;
        const isRaw = format === undefined ? prefersRawBytes(request.header('accept')) : format === 'raw';
        return answer({ versionHash: request.parameters.versionHash, hashType: null }, !isRaw, request);
      },
    }),
    defineRoute({
      ...octets,
      path: `${RAW_BASE}/vh/:versionHash`,
      says: 'The bytes of a blob, raw, for clients that take the body of /vh/ for the bytes themselves (zkSYS).',
      parameters: BARE_HASH,
      answer: (request) => answer({ versionHash: request.parameters.versionHash, hashType: null }, false, request),
    }),
    defineRoute({
      ...octets,
      path: '/get/:commitment',
      says: 'The bytes of a blob by 0x00 and its keccak256, as clients of OP’s alternative DA ask.',
      parameters: KECCAK_COMMITMENT,
      answer: (request) => answer(request.parameters.commitment, false, request),
    }),
  ];
}

export function compatibilityRoutes(reader: Reader, chain: ChainView): Route[] {
  return [
    ...clientBytesRoutes(reader),
    ...CHECK_PATHS.map((path) => checkRoute(path, chain)),
    defineRoute({
      path: '/lastblock',
      says: 'Hash of the highest final block up to which every blob is stored or accounted for.',
      answers: [{ mediaType: 'text/plain', schema: null }],
      problems: ['chain/not-final', 'chain/not-placed', 'chain/not-walked'],
      parameters: NOTHING,
      query: NOTHING,
      answer() {
        const last = chain.lastBlock();
        return last.kind === 'found' ? textAnswer(last.block.hash) : cannotTellAnswer(last);
      },
    }),
  ];
}

function checkRoute(path: string, chain: Pick<ChainView, 'storedAndFinal'>): Route {
  return definePostRoute({
    path,
    says: 'Which of these blobs are stored here and final on the chain. `false` is definite; an uncertain answer is 503.',
    answers: [{ mediaType: 'application/json', schema: z.array(z.boolean()) }],
    problems: [
      'chain/walk-behind',
      'chain/finality-unknown',
      'chain/not-compared',
      'chain/rebuilding',
      'chain/conflict',
      'chain/not-placed',
      'chain/not-walked',
    ],
    parameters: NOTHING,
    query: NOTHING,
    body: CHECKED_HASHES,
    maxBytes: 8_192,
    answer({ body }) {
      const answer = chain.storedAndFinal(body);
      return answer.kind === 'told' ? jsonAnswer(answer.safe) : cannotTellAnswer(answer);
    },
  });
}
