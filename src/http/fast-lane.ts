import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProvenBytes } from '../archive/archive-view.ts';
import { type ContentName, parseVersionHash, type VersionHash } from '../blob/ids.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import { IMMUTABLE } from './answer.ts';
import type { AnswerBudget } from './answer-budget.ts';
import type { ClientLimits } from './client-limits.ts';
import { entityTagOf } from './entity-tag.ts';
import { FileSender } from './file-sender.ts';
import type { Report } from './handle-request.ts';
import type { HttpMetrics } from './metrics.ts';
import { partBytes } from './part-size.ts';
import { requestIdFrom } from './request-id.ts';
import type { BlobBytes } from './served-bytes.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

export interface FastLaneModules {
  readonly bytes: BlobBytes;
  readonly clients: ClientLimits;
  readonly budget: AnswerBudget;
  readonly metrics: HttpMetrics | null;
  readonly report: Report;
}

/** As the metrics name it. */
export const BYTES_ROUTE = '/v1/blobs/:versionHash';
const PATH = /^\/v1\/blobs\/([0-9a-f]{64})$/;
/** Any of these makes it a request for the common way: it asks for more than all of the bytes. */
const UNCOMMON = ['range', 'if-none-match', 'transfer-encoding', 'content-length', 'expect', 'upgrade'] as const;
const STANDING = Object.entries(STANDING_HEADERS).flat();

/**
 * The commonest request of all, for whole bytes that are in memory, in a file that is proven and was read lately, or small
 * and proven at once, without the framework: that takes longer than giving them out (measured: test/bench/http). It does
 * what the gate and the route do, and nothing else takes it: where tokens are asked for, or a proxy says who asks, the
 * common way does.
 */
export class FastLane {
  readonly #modules: FastLaneModules;

  constructor(modules: FastLaneModules) {
    this.#modules = modules;
  }

  /** true: it is answered. false: nothing has been done yet. */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '', headers, httpVersion } = request;
    const hash = method === 'GET' ? hashIn(url) : null;
    if (hash === null || httpVersion !== '1.1' || headers.host === undefined) return false;
    if (UNCOMMON.some((name) => headers[name] !== undefined)) return false;
    const { bytes } = this.#modules;
    const held = bytes.held({ versionHash: hash, hashType: null });
    if (held !== null) return this.#givesMemory(held.blob, request, response);
    const file = bytes.fileAtOnce(hash);
    if (file !== null) return this.#givesFile(file, request, response);
    const glanced = bytes.glanced({ versionHash: hash, hashType: null });
    return glanced !== null && this.#givesMemory(glanced.blob, request, response);
  }

  #givesMemory(blob: VerifiedBlob, request: IncomingMessage, response: ServerResponse): boolean {
    const leave = this.#enter(blob.bytes.length, request);
    if (leave === null) return false;
    this.#countWhenSent(response, leave);
    writeHead(response, blob, blob.bytes.length, requestIdFrom(request.headers['x-request-id']));
    response.end(blob.bytes);
    return true;
  }

  #givesFile(file: ProvenBytes, request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = response;
    // Without it, it stands behind another answer on its connection, and would have to wait with its part.
    const leave = socket === null ? null : this.#enter(partBytes(), request);
    const sender = leave === null ? null : this.#begun(file);
    if (socket === null || leave === null || sender === null) {
      leave?.();
      file.close();
      return false;
    }
    this.#countWhenSent(response, leave);
    const requestId = requestIdFrom(request.headers['x-request-id']);
    writeHead(response, file, file.sizeBytes, requestId);
    sender.sendTo(response, socket, (error) => this.#modules.report(error, requestId));
    return true;
  }

  #begun(file: ProvenBytes): FileSender | null {
    try {
      return FileSender.begin(file, this.#modules.bytes.warm);
    } catch {
      // Changed just now, or unreadable: the common way reads and hashes it again, or says what is wrong.
      return null;
    }
  }

  /** Gives what is to be called when it is over. null: the common way asks again, and has the words for a refusal. */
  #enter(heldBytes: number, { socket }: IncomingMessage): (() => void) | null {
    const { budget, clients } = this.#modules;
    const share = budget.takeSpare(heldBytes);
    if (share === null) return null;
    const admission = clients.admit(socket.remoteAddress ?? '');
    if (admission.kind === 'refused') {
      share.giveBack();
      return null;
    }
    return () => {
      admission.done();
      share.giveBack();
    };
  }

  #countWhenSent(response: ServerResponse, leave: () => void): void {
    const begunMs = performance.now();
    response.once('close', () => {
      leave();
      this.#modules.metrics?.answered(BYTES_ROUTE, 'GET', 200, (performance.now() - begunMs) / 1_000);
    });
  }
}

function writeHead(response: ServerResponse, name: ContentName, sizeBytes: number, requestId: string): void {
  response.writeHead(200, [
    ...STANDING,
    'etag',
    entityTagOf(name),
    'cache-control',
    IMMUTABLE,
    'accept-ranges',
    'bytes',
    'content-type',
    'application/octet-stream',
    'x-request-id',
    requestId,
    'content-length',
    String(sizeBytes),
  ]);
}

function hashIn(url: string): VersionHash | null {
  // The length alone tells nearly all others.
  if (url.length !== 74) return null;
  const hex = PATH.exec(url)?.[1];
  return hex === undefined ? null : parseVersionHash(hex);
}
