import { errors, type Dispatcher as HttpDispatcher } from 'undici';
import { alterReply, refuseCall } from '../../src/devnode/faults/altered-reply.ts';
import type { AnswerFault } from '../../src/devnode/faults/fault.ts';
import { HexCache } from '../../src/devnode/hex-cache.ts';
import { Dispatcher } from '../../src/devnode/rpc/dispatcher.ts';
import { answerBody, type RpcCall } from '../../src/devnode/rpc/envelope.ts';
import type { NodeContext } from '../../src/devnode/rpc/node-context.ts';
import type { Reply, ReplyObject } from '../../src/devnode/rpc/reply.ts';
import { RpcError } from '../../src/devnode/rpc/rpc-error.ts';
import { WireNumber } from '../../src/devnode/rpc/wire-value.ts';
import type { SeededRandom } from './random.ts';
import type { Branch } from './simulated-chain.ts';
import type { Owner, ScheduledEvent, SimulatedTime } from './simulated-time.ts';

const DIALECT = 'syscoin-5';
const GET = 'getnevmblobdata';
const LIST = 'listnevmblobdata';
const WAIT = 'waitfornewblock';
/** Connections that the product's own pool allows; other requests wait for their turn. */
const CONNECTIONS = 6;
export const NODE_LATENCY_MS = 60;

interface Request {
  readonly owner: Owner;
  readonly body: string;
  readonly headersTimeoutMs: number;
  readonly handler: HttpDispatcher.DispatchHandler;
  isOver: boolean;
  waiting: ScheduledEvent | null;
}

/** The hash that a node gave for the block at a height, and when. */
export interface Said {
  readonly height: number;
  readonly hash: string;
  readonly atMs: number;
}

/** One node: the emulated node's own operations behind HTTP requests that never leave this process. */
export class SimulatedNode {
  readonly origin: string;
  branch: Branch;
  /** Milliseconds that an answer takes at most. */
  latencyMs = NODE_LATENCY_MS;
  #isAway = false;
  #fault: { readonly what: AnswerFault | 'reset'; readonly share: number } | null = null;
  /** When it last became another than it was. */
  changedMs = 0;
  /** Blobs that it forgot before their time. */
  readonly forgotten = new Set<string>();
  /** Blobs that were asked for at once, at most; what the budget of the settings bounds. */
  maxFetches = 0;
  calls = 0;
  /** The last block hash that it gave for a height, by height. */
  readonly said = new Map<number, Said>();
  readonly #answersWaits: boolean;
  readonly #time: SimulatedTime;
  readonly #random: SeededRandom;
  readonly #dispatcher = new Dispatcher(DIALECT);
  readonly #hexCache = new HexCache(4 * 1024 * 1024);
  readonly #queue: Request[] = [];
  readonly #open = new Set<Request>();
  readonly #waiting = new Map<Request, () => void>();
  #fetches = 0;

  constructor(origin: string, branch: Branch, answersWaits: boolean, time: SimulatedTime, random: SeededRandom) {
    this.origin = origin;
    this.#answersWaits = answersWaits;
    this.branch = branch;
    this.#time = time;
    this.#random = random;
  }

  /** Bytes of the answers that it has ready. */
  get heldBytes(): number {
    return this.#hexCache.heldBytes;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  set isAway(value: boolean) {
    this.#isAway = value;
    this.changedMs = this.#time.steadyMs;
  }

  /** The fault in a share of its answers. */
  get fault() {
    return this.#fault;
  }

  set fault(value: { readonly what: AnswerFault | 'reset'; readonly share: number } | null) {
    this.#fault = value;
    this.changedMs = this.#time.steadyMs;
  }

  /** Reports whether it would give this blob now. */
  has(versionHash: string): boolean {
    return !this.forgotten.has(versionHash) && this.branch.chain.cache.get(versionHash) !== null;
  }

  /** Answers every call that waits for a new block. */
  notify(): void {
    for (const wake of [...this.#waiting.values()]) wake();
  }

  /** Everything under way ends, as when its process does. */
  cutAll(): void {
    for (const request of [...this.#open, ...this.#queue.splice(0)]) {
      this.#end(request, () => request.handler.onResponseError?.(CONTROLLER, socketError('other side closed')));
    }
  }

  /** A process is gone, and its connections with it. */
  forgetClients(owner: Owner): void {
    const others = this.#queue.filter((request) => request.owner !== owner);
    this.#queue.splice(0, this.#queue.length, ...others);
    for (const request of [...this.#open]) {
      if (request.owner !== owner) continue;
      request.isOver = true;
      request.waiting?.cancel();
      this.#open.delete(request);
      this.#waiting.delete(request);
    }
    if (owner === 'archiver') this.#fetches = 0;
  }

  dispatch(options: HttpDispatcher.DispatchOptions, handler: HttpDispatcher.DispatchHandler): boolean {
    const request: Request = {
      ...{ owner: this.#time.running, body: String(options.body), handler, isOver: false, waiting: null },
      headersTimeoutMs: options.headersTimeout ?? 300_000,
    };
    this.#queue.push(request);
    this.#time.soon('world', () => this.#begin());
    return true;
  }

  /** The first request of a process that has a connection free. */
  #begin(): void {
    const at = this.#queue.findIndex(({ owner }) => this.#connectionsOf(owner) < CONNECTIONS);
    const [request] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (request === undefined) return;
    this.#open.add(request);
    const controller = { ...CONTROLLER, abort: () => this.#drop(request) };
    request.handler.onRequestStart?.(controller, {});
    if (request.isOver) return;
    const delayMs = this.#random.next() * this.latencyMs;
    if (this.isAway) {
      this.#fail(request, delayMs, connectError());
      return;
    }
    const late = request.headersTimeoutMs;
    if (delayMs >= late) this.#fail(request, late, new errors.HeadersTimeoutError());
    else request.waiting = this.#time.after(delayMs / 2, request.owner, () => this.#arrive(request, delayMs / 2));
  }

  #connectionsOf(owner: Owner): number {
    let count = 0;
    for (const request of this.#open) if (request.owner === owner) count += 1;
    return count;
  }

  #arrive(request: Request, delayMs: number): void {
    if (this.isAway) {
      this.#fail(request, delayMs, connectError());
      return;
    }
    const waitMs = this.#answersWaits ? waitOf(request.body) : null;
    if (waitMs === null) {
      void this.#answer(request, delayMs);
      return;
    }
    const done = () => {
      this.#waiting.delete(request);
      request.waiting?.cancel();
      void this.#answer(request, delayMs);
    };
    this.#waiting.set(request, done);
    request.waiting = this.#time.after(Math.min(waitMs, request.headersTimeoutMs), request.owner, done);
  }

  async #answer(request: Request, delayMs: number): Promise<void> {
    this.calls += 1;
    if (this.fault?.what === 'reset' && this.#random.chance(this.fault.share)) {
      this.#fail(request, delayMs, socketError('read ECONNRESET'));
      return;
    }
    const isFetch = request.owner === 'archiver' && request.body.includes(GET);
    if (isFetch) {
      this.#fetches += 1;
      this.maxFetches = Math.max(this.maxFetches, this.#fetches);
    }
    const answer = await answerBody(request.body, (call) => this.#perform(call, request.owner));
    if (isFetch) this.#fetches -= 1;
    if (request.isOver) return;
    request.waiting = this.#time.after(delayMs, request.owner, () => {
      const body = Buffer.concat(answer.body);
      this.#end(request, ({ handler }) => {
        const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
        handler.onResponseStart?.(CONTROLLER, answer.status, headers, '');
        handler.onResponseData?.(CONTROLLER, body);
        handler.onResponseEnd?.(CONTROLLER, {});
      });
    });
  }

  async #perform(call: RpcCall, owner: Owner): Promise<Reply> {
    const { state, chain } = this.branch;
    if (call.method === WAIT) {
      if (!this.#answersWaits) throw new RpcError('methodNotFound', 'Method not found');
      return { hash: chain.tip.hash, height: chain.tip.height };
    }
    const fault = this.fault !== null && this.#random.chance(this.fault.share) ? this.fault.what : null;
    const altered = fault === null || fault === 'reset' ? null : fault;
    if (altered !== null) refuseCall(altered);
    const [first] = Array.isArray(call.params) ? call.params : [];
    if (call.method === GET && typeof first === 'string' && this.forgotten.has(first)) {
      throw new RpcError('invalidParams', `Could not find blob information for versionhash ${first}`);
    }
    const context: NodeContext = {
      ...{ dialect: DIALECT, state, chain, assets: state.assets, wallets: ['w'], startedAtSeconds: 0 },
      hexOf: (content) => this.#hexCache.hexOf(content),
      hasTransactionIndex: true,
      hasUndoData: true,
      spend: () => Promise.resolve(),
    };
    const { signal } = NEVER;
    const reply = await this.#dispatcher.perform(call, context, { walletName: null, signal });
    const known = call.method === LIST && isList(reply) ? reply.filter((entry) => !this.#isForgotten(entry)) : reply;
    if (call.method === 'getblockhash' && typeof reply === 'string' && owner === 'archiver') {
      const height = first instanceof WireNumber ? first.value : Number(String(first));
      this.said.set(height, { height, hash: reply, atMs: this.#time.steadyMs });
    }
    return altered === null ? known : alterReply(known, altered, this.calls);
  }

  #isForgotten(entry: Reply): boolean {
    const hash = entry !== null && typeof entry === 'object' && 'versionhash' in entry ? entry['versionhash'] : null;
    return typeof hash === 'string' && this.forgotten.has(hash);
  }

  #fail(request: Request, delayMs: number, error: Error): void {
    request.waiting = this.#time.after(delayMs, request.owner, () =>
      this.#end(request, ({ handler }) => handler.onResponseError?.(CONTROLLER, error)),
    );
  }

  #end(request: Request, tell: (request: Request) => void): void {
    if (request.isOver) return;
    this.#drop(request);
    tell(request);
  }

  #drop(request: Request): void {
    request.isOver = true;
    request.waiting?.cancel();
    if (!this.#open.delete(request)) return;
    this.#time.soon('world', () => this.#begin());
  }
}

const NEVER = new AbortController();

const CONTROLLER: HttpDispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/** Milliseconds that a call waits for a block; null: it waits for none. */
function waitOf(body: string): number | null {
  if (!body.includes(WAIT)) return null;
  return Number(/"params":\[(\d+)/.exec(body)?.[1] ?? 0);
}

function isList(reply: Reply): reply is readonly ReplyObject[] {
  return Array.isArray(reply);
}

function connectError(): Error {
  return Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
}

function socketError(message: string): Error {
  return Object.assign(new errors.SocketError(message), { code: 'UND_ERR_SOCKET' });
}
