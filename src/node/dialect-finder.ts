import { z } from 'zod';
import type { Clock } from '../core/time/clock.ts';
import { decode } from './decode.ts';
import type { NodeRelease } from './dialect-rules.ts';
import { versionText } from './dialect-rules.ts';
import { NodeError, NodeRpcError } from './errors.ts';
import type { Dialect } from './method-table.ts';

/** Calls a method of the node by its wire name. */
export type AskByName = (method: string, params: readonly unknown[], signal: AbortSignal) => Promise<unknown>;

/** Detects the node's release at the first call. */
export interface DialectFinder {
  /** true when the caller stated the dialect. */
  readonly isGiven: boolean;
  release(signal: AbortSignal): Promise<NodeRelease>;
  /** Marks the release as unknown, so that the next call detects it again. */
  doubt(): void;
}

/**
 * Milliseconds after which the version is checked again: a node can be upgraded between two calls without a failed one.
 */
const BELIEVED_MS = 60_000;
const networkInfo = z.object({ version: z.int().positive() });
/** Method that only a node of the specification has. Without its data it has no effect. */
const PROBE = 'svccreatenevmblob';

export function givenDialect(dialect: Dialect): DialectFinder {
  const release = { dialect, version: null };
  return { isGiven: true, release: async () => release, doubt: () => undefined };
}

export function findDialect(ask: AskByName, clock: Pick<Clock, 'steadyMs'>): DialectFinder {
  let known: NodeRelease | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  return {
    isGiven: false,
    async release(signal) {
      if (known !== null && clock.steadyMs() - askedAt < BELIEVED_MS) return known;
      const { version } = decode(networkInfo, await ask('getnetworkinfo', [], signal), 'getnetworkinfo');
      if (known === null || known.version !== version) {
        const dialect = (await knowsProbe(ask, signal)) ? 'svc' : dialectOf(version);
        known = { dialect, version };
      }
      askedAt = clock.steadyMs();
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
    // 403: this user may not call it (rpcwhitelist), which holds for unknown names too.
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
    `This node is ${versionText(version)}, which is older than any supported release.`,
    {
      details: { version },
      retryable: false,
      hint: 'Use release 4.2 or newer, or state the dialect.',
    },
  );
}
