import { z } from 'zod';
import type { NamedHash } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { ArchiveView, NotGiven } from '../view/archive-view.ts';
import type { ChainView } from '../view/chain-view.ts';
import { jsonAnswer } from './answer.ts';
import { ATTESTATION_PATH, ATTESTATION_QUERY } from './attestation.ts';
import { missingAnswer } from './blob-lookup.ts';
import { bytesRoute, LOOKUP_PROBLEMS } from './blobs.ts';
import { proofRoute } from './chain.ts';
import { CHECK_PATHS, clientBytesRoutes } from './compatibility.ts';
import { CUSTOM_NAME, CUSTOM_PATH } from './custom.ts';
import { RPC_ANSWERS } from './facade.ts';
import { INVENTORY_PATH, RANGE_QUERY } from './inventory.ts';
import { BLOCK, CHECKED_HASHES, LISTING_QUERY, NAMED_HASH, NOTHING, RECORD_QUERY, TRANSACTION } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { RECEIPT_PATH } from './receipts.ts';
import { RECORD } from './record-on-wire.ts';
import { definePostRoute, defineRawPostRoute, defineRoute, FACADE_PATH, type Route } from './route.ts';
import { answerRpc, measure } from './rpc/envelope.ts';
import { rpcFault } from './rpc/rpc-error.ts';
import type { StatusView } from './status.ts';

/** Answers of a reader without a catalog. */
export interface ReaderView extends Pick<ArchiveView, 'reader'>, Pick<ChainView, 'proofs'>, StatusView {
  /** The answers of the archiver behind it; null: there is none. */
  record(
    name: NamedHash,
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly kind: 'found'; readonly json: unknown } | NotGiven | null>;
}

const MAX_BODY_BYTES = 262_144;
const RETRY_SECONDS = 60;

/** Bytes and proofs, which take no catalog. */
export function provenRoutes(view: Pick<ReaderView, 'reader' | 'proofs'>): Route[] {
  return [
    bytesRoute(view.reader),
    proofRoute({ record: async () => NO_CATALOG }, view),
    ...clientBytesRoutes(view.reader),
  ];
}

const NO_CATALOG = {
  kind: 'unavailable',
  reason: 'cannot-tell',
  message: 'This reader has no catalog; ask the archiver.',
  retryAfterSeconds: RETRY_SECONDS,
} as const;

/** The route takes a catalog, and stands below the path of the bytes: no ingress could part the two. So the archiver is asked here. */
function recordRoute(view: Pick<ReaderView, 'record'>): Route {
  return defineRoute({
    path: '/v1/blobs/:versionHash/record',
    says: 'What the archiver behind this reader knows of a blob; without one, it is refused.',
    answers: [{ mediaType: 'application/json', schema: RECORD }],
    problems: [...LOOKUP_PROBLEMS, 'blob/lost', 'reader/needs-archiver'],
    parameters: NAMED_HASH,
    query: RECORD_QUERY,
    async answer({ parameters: { versionHash: name }, query, signal }) {
      const found = await view.record(name, query.after, signal);
      if (found === null) return needsArchiver();
      if (found.kind !== 'found') return missingAnswer(found, name.versionHash);
      const record = RECORD.safeParse(found.json);
      if (record.success && record.data.versionHash === name.versionHash) return jsonAnswer(record.data);
      return problemAnswer('blob/cannot-tell', 'What the archiver said is no record of it.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    },
  });
}

function needsArchiver() {
  return problemAnswer('reader/needs-archiver', NO_CATALOG.message, {
    retryAfterSeconds: NO_CATALOG.retryAfterSeconds,
  });
}

/**
 * All that needs a catalog: it is there as well, and says 503, for it never guesses. Malformed requests are told so here too;
 * the rest of the answer is always the same, but for records, which the archiver gives.
 */
export function withoutCatalogRoutes(view: Pick<ReaderView, 'record'>, clock: Pick<Clock, 'steadyMs'>): Route[] {
  const refused = {
    answers: [],
    problems: ['reader/needs-archiver'],
    parameters: NOTHING,
    query: NOTHING,
    answer: needsArchiver,
  } as const;
  const says = 'Not here: it takes the catalog of an archiver.';
  return [
    recordRoute(view),
    defineRoute({ ...refused, says, path: '/v1/blobs', query: LISTING_QUERY }),
    defineRoute({ ...refused, says, path: INVENTORY_PATH, query: RANGE_QUERY }),
    defineRoute({ ...refused, says, path: ATTESTATION_PATH, query: ATTESTATION_QUERY }),
    defineRoute({ ...refused, says, path: RECEIPT_PATH, parameters: NAMED_HASH }),
    defineRoute({ ...refused, says, path: '/v1/transactions/:txid', parameters: TRANSACTION }),
    defineRoute({ ...refused, says, path: '/v1/transactions/:txid/data', parameters: TRANSACTION }),
    defineRoute({ ...refused, says, path: '/v1/blocks/:at', parameters: BLOCK }),
    defineRoute({ ...refused, says, path: CUSTOM_PATH, parameters: CUSTOM_NAME }),
    defineRoute({ ...refused, says, path: '/lastblock' }),
    ...CHECK_PATHS.map((path) => definePostRoute({ ...refused, says, path, body: CHECKED_HASHES, maxBytes: 8_192 })),
    defineRawPostRoute({
      ...refused,
      says: 'JSON-RPC is refused: every call is answered -32603, for it takes the catalog of an archiver.',
      path: FACADE_PATH,
      answers: RPC_ANSWERS,
      problems: [],
      describedBody: z.unknown(),
      maxBytes: MAX_BODY_BYTES,
      answer: ({ body, signal }) =>
        answerRpc(
          measure(body),
          async () => {
            throw rpcFault(NO_CATALOG.message, NO_CATALOG.retryAfterSeconds);
          },
          clock,
          signal,
        ),
    }),
  ];
}
