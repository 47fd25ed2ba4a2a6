import { z } from 'zod';
import { decode } from './decode.ts';
import type { NodeRelease } from './dialect-rules.ts';
import { versionText } from './dialect-rules.ts';
import { NodeError, NodeRpcError } from './errors.ts';
import type { Dialect } from './method-table.ts';

/** Asks one thing of the node, by the name that it has on the wire. */
export type AskByName = (method: string, params: readonly unknown[], signal: AbortSignal) => Promise<unknown>;

/** Which release the node is of; finds out at the first question. */
export interface DialectFinder {
  /** The dialect was stated: asking costs nothing. */
  readonly isGiven: boolean;
  release(signal: AbortSignal): Promise<NodeRelease>;
  /** The node went away or said something odd: look again before the next answer. */
  doubt(): void;
}

/** A node can be upgraded between two calls without one of them failing: its version is asked again after this long. */
const BELIEVED_MS = 60_000;
const networkInfo = z.object({ version: z.int().positive() });
/** Called without its data it does nothing, but only a node of the specification knows it. */
const PROBE = 'svccreatenevmblob';

export function givenDialect(dialect: Dialect): DialectFinder {
  const release = { dialect, version: null };
  return { isGiven: true, release: async () => release, doubt: () => undefined };
}

export function findDialect(ask: AskByName): DialectFinder {
  let known: NodeRelease | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  return {
    isGiven: false,
    async release(signal) {
      if (known !== null && performance.now() - askedAt < BELIEVED_MS) return known;
      const { version } = decode(networkInfo, await ask('getnetworkinfo', [], signal), 'getnetworkinfo');
      if (known === null || known.version !== version) {
        const dialect = (await knowsProbe(ask, signal)) ? 'svc' : dialectOf(version);
        known = { dialect, version };
      }
      askedAt = performance.now();
      return known;
    },
    doubt() {
      askedAt = Number.NEGATIVE_INFINITY;
    },
  };
}

async function knowsProbe(ask: AskByName, signal: AbortSignal): Promise<boolean> {
  try {
    await ask(PROBE, [], signal);
    return true;
  } catch (error) {
    // 403: this user may not call it (rpcwhitelist), as with any name that such a node does not know.
    if (error instanceof NodeError && error.code === 'node/unauthorized') return false;
    if (!(error instanceof NodeRpcError)) throw error;
    if (error.code === 'node/warming-up') throw error;
    return error.code !== 'node/method-not-found';
  }
}

function dialectOf(version: number): Dialect {
  if (version >= 50_000) return 'syscoin-5';
  if (version >= 40_400) return 'syscoin-4.4';
  if (version >= 40_200) return 'syscoin-4.2';
  throw new NodeError(
    'node/unsupported-operation',
    `This node is ${versionText(version)}: older than any known release.`,
    {
      details: { version },
      retryable: false,
      hint: 'Use release 4.2 or newer, or state the dialect.',
    },
  );
}
