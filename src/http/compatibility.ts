import { z } from 'zod';
import type { ChainView } from '../view/chain-view.ts';
import { type Answer, bodyOf, IMMUTABLE, jsonAnswer, textAnswer } from './answer.ts';
import { cannotTellAnswer, notThereForClients } from './blob-lookup.ts';
import { LOOKUP_PROBLEMS } from './blobs.ts';
import { fileBody } from './file-body.ts';
import { hexBody } from './hex-body.ts';
import { prefersRawBytes } from './media-preference.ts';
import { BARE_HASH, CHECKED_HASHES, FORMAT_QUERY, KECCAK_COMMITMENT, NOTHING } from './parameters.ts';
import { definePostRoute, defineRoute, type Route } from './route.ts';
import type { BlobBytes, ServedBytes } from './served-bytes.ts';

/** A client that knows no hex gets this base path, and appends to it what others append to the address. */
const RAW_BASE = '/raw';
export const CHECK_PATHS = ['/check_vh', `${RAW_BASE}/check_vh`] as const;

/**
 * The contracts of clients that exist. One of them ignores the status and takes the body for hex; an empty body makes it
 * drop the batch for ever. So no GET here is ever answered without a body: no 304, no parts, and errors are JSON, which
 * is not hex.
 */
export function clientBytesRoutes(bytes: BlobBytes, chain: Pick<ChainView, 'lost'>): Route[] {
  return [
    defineRoute({
      path: '/vh/:versionHash',
      says: 'The bytes of a blob as hex text, or raw on Accept: application/octet-stream or ?format=raw.',
      answers: [
        { mediaType: 'text/plain', schema: null },
        { mediaType: 'application/octet-stream', schema: null },
      ],
      problems: LOOKUP_PROBLEMS,
      parameters: BARE_HASH,
      query: FORMAT_QUERY,
      async answer(request) {
        const { versionHash } = request.parameters;
        const name = { versionHash, hashType: null };
        const found = await bytes.find(name, request);
        if (found.kind === 'missing') return notThereForClients(chain, name, found.lookup);
        const { format } = request.query;
        return blobAnswer(found, format === undefined ? prefersRawBytes(request.header('accept')) : format === 'raw');
      },
    }),
    defineRoute({
      path: `${RAW_BASE}/vh/:versionHash`,
      says: 'The bytes of a blob, raw, for clients that take the body of /vh/ for the bytes themselves (zkSYS).',
      answers: [{ mediaType: 'application/octet-stream', schema: null }],
      problems: LOOKUP_PROBLEMS,
      parameters: BARE_HASH,
      query: NOTHING,
      async answer(request) {
        const name = { versionHash: request.parameters.versionHash, hashType: null };
        const found = await bytes.find(name, request);
        return found.kind === 'missing' ? notThereForClients(chain, name, found.lookup) : blobAnswer(found, true);
      },
    }),
    defineRoute({
      path: '/get/:commitment',
      says: 'The bytes of a blob by 0x00 and its keccak256, as clients of OP’s alternative DA ask.',
      answers: [{ mediaType: 'application/octet-stream', schema: null }],
      problems: LOOKUP_PROBLEMS,
      parameters: KECCAK_COMMITMENT,
      query: NOTHING,
      async answer(request) {
        const name = request.parameters.commitment;
        const found = await bytes.find(name, request);
        return found.kind === 'missing' ? notThereForClients(chain, name, found.lookup) : blobAnswer(found, true);
      },
    }),
  ];
}

export function compatibilityRoutes(chain: ChainView, bytes: BlobBytes): Route[] {
  return [
    ...clientBytesRoutes(bytes, chain),
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
    mostBytes: 8_192,
    answer({ body }) {
      const answer = chain.storedAndFinal(body);
      return answer.kind === 'told' ? jsonAnswer(answer.safe) : cannotTellAnswer(answer);
    },
  });
}

function blobAnswer(served: ServedBytes, raw: boolean): Answer {
  return {
    status: 200,
    headers: {
      'content-type': raw ? 'application/octet-stream' : 'text/plain',
      'cache-control': IMMUTABLE,
      vary: 'accept',
    },
    body: clientBody(served, raw),
  };
}

function clientBody(served: ServedBytes, raw: boolean): NonNullable<Answer['body']> {
  if (served.kind === 'file') {
    return fileBody(served.file, { first: 0, lengthBytes: served.sizeBytes, partBytes: served.partBytes, asHex: !raw });
  }
  return raw ? bodyOf(served.blob.bytes) : hexBody([{ hexOf: served.blob.bytes }]);
}
