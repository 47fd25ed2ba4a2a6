import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseVersionHash, type VersionHash } from '../blob/ids.ts';
import { IMMUTABLE } from './answer.ts';
import type { AnswerBudget } from './answer-budget.ts';
import type { ClientLimits } from './client-limits.ts';
import { entityTagOf } from './entity-tag.ts';
import type { HttpMetrics } from './metrics.ts';
import { requestIdFrom } from './request-id.ts';
import type { BlobBytes } from './served-bytes.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

export interface FastLaneModules {
  readonly bytes: BlobBytes;
  readonly clients: ClientLimits;
  readonly budget: AnswerBudget;
  readonly metrics: HttpMetrics | null;
}

const ROUTE = '/v1/blobs/:versionHash';
const PATH = /^\/v1\/blobs\/([0-9a-f]{64})$/;
/** Any of these makes it a request for the common way: it asks for more than all of the bytes. */
const UNCOMMON = ['range', 'if-none-match', 'transfer-encoding', 'content-length', 'expect', 'upgrade'] as const;
const STANDING = Object.entries(STANDING_HEADERS).flat();

/**
 * The commonest request of all, for whole bytes that are in memory, or small and proven at once, without the framework:
 * that takes longer than giving them out (measured: test/bench/http). It does what the gate and the route do, and nothing else takes it: where tokens are asked
 * for, or a proxy says who asks, the common way does.
 */
export class FastLane {
  readonly #modules: FastLaneModules;

  constructor(modules: FastLaneModules) {
    this.#modules = modules;
  }

  /** true: it is answered. false: nothing has been done yet. */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '', headers, httpVersion } = request;
    const { bytes, clients, budget, metrics } = this.#modules;
    const hash = method === 'GET' ? hashIn(url) : null;
    if (hash === null || httpVersion !== '1.1' || headers.host === undefined) return false;
    if (UNCOMMON.some((name) => headers[name] !== undefined)) return false;
    const held = bytes.atOnce(hash);
    const share = held === null ? null : budget.takeSpare(held.sizeBytes);
    if (held === null || share === null) return false;
    const admission = clients.admit(request.socket.remoteAddress ?? '');
    if (admission.kind === 'refused') {
      share.giveBack();
      // The common way asks again, and is refused as well: it has the words.
      return false;
    }
    const begunMs = performance.now();
    response.once('close', () => {
      admission.done();
      share.giveBack();
      metrics?.answered(ROUTE, 'GET', 200, (performance.now() - begunMs) / 1_000);
    });
    const { bytes: body } = held.blob;
    response.writeHead(200, [
      ...STANDING,
      'etag',
      entityTagOf(held),
      'cache-control',
      IMMUTABLE,
      'accept-ranges',
      'bytes',
      'content-type',
      'application/octet-stream',
      'x-request-id',
      requestIdFrom(headers['x-request-id']),
      'content-length',
      String(body.length),
    ]);
    response.end(body);
    return true;
  }
}

function hashIn(url: string): VersionHash | null {
  // The length alone tells nearly all others.
  if (url.length !== 74) return null;
  const hex = PATH.exec(url)?.[1];
  return hex === undefined ? null : parseVersionHash(hex);
}
