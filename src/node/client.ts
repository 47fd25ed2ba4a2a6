import { SYSTEM_CLOCK } from '../core/time/clock.ts';
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
  /**
   * Dialect of the node. Default `auto`: detected from the version and one probe, and again after a restart of the
   * node.
   */
  readonly dialect?: Dialect | 'auto';
  /** Wallet of the calls. Required when the node has several wallets loaded. */
  readonly wallet?: string;
  /** Retries of reads; submissions are never retried. */
  readonly retry?: RetryPolicy;
}

/** A client of one node. The operations are functions that take one. */
export interface NodeClient {
  /** Address of the node without credentials. */
  readonly name: string;
  /** Release of the node. Asks the node at most once a minute. */
  release(options?: CallOptions): Promise<NodeRelease>;
  /**
   * Makes one call.
   * @throws NodeError; the signal's reason on abort
   */
  run<T>(call: NodeCall<T>, options?: CallOptions): Promise<T>;
  /** Makes several reads in one request. Rejects when the request as a whole failed. */
  runAll<T>(calls: readonly NodeCall<T>[], options?: CallOptions): Promise<Settled<T>[]>;
  close(): Promise<void>;
}

/**
 * Creates a client. Sends nothing yet.
 * @throws NodeError `node/invalid-argument` for an address that is no http:// or https:// URL
 *
 * @example
 * const client = createClient({ url: 'http://user:password@127.0.0.1:8370' });
 * console.log(await getBlockCount(client));
 * await client.close();
 */
export function createClient(options: ClientOptions): NodeClient {
  const transport = withReadRetries(createTransport(options, SYSTEM_CLOCK), options.retry ?? DEFAULT_RETRY);
  const exchange = createExchange(transport, {
    wallet: options.wallet ?? null,
    callMs: options.timeouts?.callMs ?? DEFAULT_CALL_MS,
  });
  const dialect = options.dialect ?? 'auto';
  const finder = dialect === 'auto' ? findDialect(exchange.askByName, SYSTEM_CLOCK) : givenDialect(dialect);

  async function answerTo<T>(call: NodeCall<T>, callOptions: CallOptions): Promise<T> {
    const signal = callOptions.signal ?? NEVER_ABORTED;
    const spelled = await spell(call, finder, signal);
    try {
      return await exchange.one(call, spelled, callOptions);
    } catch (error) {
      noticeRestart(error, finder);
      if (!isMisspelling(error)) throw error;
      // The node may run another release by now. A node has not executed a call that it refuses for its form.
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

/** After an absence the node may run another release. */
function noticeRestart(error: unknown, finder: DialectFinder): void {
  if (!(error instanceof NodeError)) return;
  const { code } = error;
  if (code === 'node/unreachable' || code === 'node/connection-lost' || code === 'node/warming-up') finder.doubt();
}

const RPC_MISC_ERROR = -1;
const RPC_TYPE_ERROR = -3;

/** Reports whether the node refused the method name, the number of parameters (with the help text) or their types. */
function isMisspelling(error: unknown): boolean {
  if (!(error instanceof NodeRpcError)) return false;
  if (error.code === 'node/method-not-found' || error.rpcCode === RPC_TYPE_ERROR) return true;
  return error.rpcCode === RPC_MISC_ERROR && error.rpcMessage.includes('Arguments:');
}
