import { type DialectFinder, findDialect, givenDialect } from './dialect-finder.ts';
import type { NodeRelease } from './dialect-rules.ts';
import { NodeError, NodeRpcError } from './errors.ts';
import { createExchange, type Settled } from './exchange.ts';
import type { Dialect } from './method-table.ts';
import type { CallOptions, NodeCall } from './node-call.ts';
import { NEVER_ABORTED } from './post.ts';
import { DEFAULT_RETRY, type RetryPolicy, withReadRetries } from './read-retry.ts';
import type { BatchedCall } from './rpc-request.ts';
import { spell, spellIn } from './spelling.ts';
import { createTransport, DEFAULT_CALL_MS, type TransportOptions } from './transport.ts';

export interface ClientOptions extends TransportOptions {
  /** Default `auto`: found out from the node's version and one probe, and again when the node was restarted. */
  readonly dialect?: Dialect | 'auto';
  /** Needed where the node has several loaded. */
  readonly wallet?: string;
  /** Of reads; submissions are never repeated by it. */
  readonly retry?: RetryPolicy;
}

/** Speaks to one node. The operations are functions that take one of these. */
export interface NodeClient {
  /** Where the node is, without credentials. */
  readonly name: string;
  /** Asks the node at most once a minute. */
  release(options?: CallOptions): Promise<NodeRelease>;
  /** @throws NodeError; on abort the signal's reason. */
  run<T>(call: NodeCall<T>, options?: CallOptions): Promise<T>;
  /** Several calls in one request: reads only. Throws when the request as a whole failed. */
  runAll<T>(calls: readonly NodeCall<T>[], options?: CallOptions): Promise<Settled<T>[]>;
  close(): Promise<void>;
}

/** @throws NodeError `node/invalid-argument` when the address cannot be one. Nothing is sent yet. */
export function createClient(options: ClientOptions): NodeClient {
  const transport = withReadRetries(createTransport(options), options.retry ?? DEFAULT_RETRY);
  const exchange = createExchange(transport, {
    wallet: options.wallet ?? null,
    callMs: options.timeouts?.callMs ?? DEFAULT_CALL_MS,
  });
  const dialect = options.dialect ?? 'auto';
  const finder = dialect === 'auto' ? findDialect(exchange.askByName) : givenDialect(dialect);

  async function answerTo<T>(call: NodeCall<T>, callOptions: CallOptions): Promise<T> {
    const signal = callOptions.signal ?? NEVER_ABORTED;
    const spelled = await spell(call, finder, signal);
    try {
      return await exchange.one(call, spelled, callOptions);
    } catch (error) {
      noticeRestart(error, finder);
      if (!isMisspelling(error)) throw error;
      // Another release may run there than when we asked. What a node refuses for its form it has not executed.
      finder.doubt();
      const again = spellIn(call, await finder.release(signal));
      if (JSON.stringify(again) === JSON.stringify(spelled)) throw error;
      return await exchange.one(call, again, callOptions);
    }
  }

  function confirmed<T>(call: NodeCall<T>, answered: T, callOptions: CallOptions): T | Promise<T> {
    return call.confirm?.(answered, (further) => answerTo(further, callOptions)) ?? answered;
  }

  async function confirmedEach<T>(call: NodeCall<T> | undefined, ended: Settled<T>, callOptions: CallOptions) {
    if (call === undefined || !ended.ok) return ended;
    try {
      return { ok: true as const, value: await confirmed(call, ended.value, callOptions) };
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return { ok: false as const, error };
    }
  }

  return {
    name: transport.name,
    release: ({ signal } = {}) => finder.release(signal ?? NEVER_ABORTED),
    run: async (call, callOptions = {}) => await confirmed(call, await answerTo(call, callOptions), callOptions),
    async runAll<T>(calls: readonly NodeCall<T>[], callOptions: CallOptions = {}) {
      const signal = callOptions.signal ?? NEVER_ABORTED;
      const spelled: BatchedCall[] = [];
      for (const call of calls) spelled.push(await spell(call, finder, signal));
      try {
        const ended = await exchange.batch(calls, spelled, callOptions);
        const all: Settled<T>[] = [];
        for (const [place, one] of ended.entries()) all.push(await confirmedEach(calls[place], one, callOptions));
        return all;
      } catch (error) {
        noticeRestart(error, finder);
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

/** A node that was away may come back as another release. */
function noticeRestart(error: unknown, finder: DialectFinder): void {
  if (!(error instanceof NodeError)) return;
  const { code } = error;
  if (code === 'node/unreachable' || code === 'node/connection-lost' || code === 'node/warming-up') finder.doubt();
}

const RPC_MISC_ERROR = -1;
const RPC_TYPE_ERROR = -3;

/** Refused for its name, its number of parameters (answered with the help text), or their types. */
function isMisspelling(error: unknown): boolean {
  if (!(error instanceof NodeRpcError)) return false;
  if (error.code === 'node/method-not-found' || error.rpcCode === RPC_TYPE_ERROR) return true;
  return error.rpcCode === RPC_MISC_ERROR && error.rpcMessage.includes('Arguments:');
}
