import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import {
  createClient,
  type Dialect,
  type SubmissionProgress,
  type SubmitOptions,
  submitBlob,
} from '../../src/client.ts';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { type Answering, callOf, fakeNode, json, result, rpcError, type Seen } from './fake-node.ts';

export const BYTES = new TextEncoder().encode('a blob of ours');
export const HASH = encodeHex(nobleHasher.keccak256(BYTES));
export const TXID = 'cd'.repeat(32);
export const OLD_TXID = '0d'.repeat(32);
export const BLOCK = 'b1'.repeat(32);

interface Entry {
  txid: string;
  height?: number;
  chainlock?: boolean;
}
/** Answers that a proxy gives or leaves of a submission that the node has executed. */
export const GARBLED = {
  'a 502 of a proxy': (response) => response.writeHead(502).end('<html>Bad gateway</html>'),
  'a 503 of a proxy': (response) => response.writeHead(503).end('upstream connect error or disconnect/reset'),
  'a 504 of a proxy': (response) => response.writeHead(504).end('<html>Gateway timeout</html>'),
  'a page of a proxy': (response) => response.writeHead(524).end('<html>A timeout occurred</html>'),
  'an empty 200': (response) => response.writeHead(200).end(),
  'half of the answer': (response) => json(response, 200, '{"result":{"txid":"cdcd'),
  'another version hash': (response) =>
    json(
      response,
      200,
      `{"result":{"txid":"${TXID}","versionhash":"${'ee'.repeat(32)}"},"error":null,"id":"holdfast"}`,
    ),
  'an answer that is too long': (response) => json(response, 200, `{"result":"${'cd'.repeat(2 ** 18)}"}`),
} satisfies Record<string, (response: ServerResponse) => void>;
export type Fate = 'answer' | 'lose the call' | 'lose the answer' | keyof typeof GARBLED;

export function isGarbled(fate: string): fate is keyof typeof GARBLED {
  return fate in GARBLED;
}

/** A node with at most one blob. `story` lists the cache's answers to successive look-ups; the last one stays. */
export async function nodeWith(setting: {
  story: readonly (Entry | null)[];
  fates?: readonly Fate[];
  afterCreate?: Entry;
  /** The look-up that is never answered, and what happens then. */
  hangs?: { readonly look: number; readonly then: () => void };
  /** From this look-up on the node refuses the user. */
  refusesFrom?: number;
  dialect?: Dialect;
  /** Answers to other methods, in place of those of a node with the whole chain. */
  others?: Readonly<Record<string, Answering>>;
}) {
  const { dialect = 'syscoin-5' } = setting;
  const state = { looks: 0, created: 0, createBodies: [] as string[], arrived: false };
  const fake = await fakeNode((response, seen, request) => {
    const { method, params } = callOf(seen);
    const [argument, overwrites] = Array.isArray(params) ? params : [];
    const other = setting.others?.[String(method)];
    if (other !== undefined) return other(response, seen, request);
    switch (method) {
      case 'svccreatenevmblob':
      case 'syscoincreatenevmblob': {
        const fate = setting.fates?.[state.created] ?? 'answer';
        state.created += 1;
        state.createBodies.push(seen.body);
        if (fate !== 'lose the call') state.arrived = true;
        if (fate === 'answer' && overwrites === false) return result(response, seen, { versionhash: HASH });
        if (fate === 'answer') return result(response, seen, { txid: TXID, versionhash: HASH, datasize: BYTES.length });
        return isGarbled(fate) ? GARBLED[fate](response) : request.socket.resetAndDestroy();
      }
      case 'getnevmblobdata': {
        if (state.looks === setting.hangs?.look) return setting.hangs.then();
        if (state.looks >= (setting.refusesFrom ?? Number.POSITIVE_INFINITY)) return response.writeHead(403).end();
        const entry = argument === HASH ? nextOf(setting.story) : entryOfTx(String(argument));
        if (entry !== null) return result(response, seen, shownIn(dialect, entry, argument !== HASH));
        return rpcError(response, seen, -32602, `Could not find blob information for versionhash ${argument}`);
      }
      case 'getrawtransaction':
        return result(response, seen, { txid: TXID, version: 137, vout: [] });
      case 'getblockheader':
        return result(response, seen, headerAt(100));
      default:
        return rpcError(response, seen, -32601, 'Method not found');
    }
  });
  let last: Entry | null = null;
  function nextOf(story: readonly (Entry | null)[]): Entry | null {
    if (state.arrived && setting.afterCreate !== undefined) return setting.afterCreate;
    last = story[Math.min(state.looks, story.length - 1)] ?? null;
    state.looks += 1;
    return last;
  }
  function entryOfTx(txid: string): Entry | null {
    return last?.txid === txid && last.height !== undefined ? last : null;
  }
  const client = createClient({ url: fake.url, dialect });
  onTestFinished(() => client.close());
  const progress: SubmissionProgress[] = [];
  const submit = (options: SubmitOptions = {}) =>
    submitBlob(client, BYTES, { pollMs: 1, listedWithinMs: 20, onProgress: (one) => progress.push(one), ...options });
  const stages = () => progress.map((one) => (one.kind === 'stage' ? one.submission.stage : one.kind));
  return { fake, state, submit, stages };
}

/** The entry as a release shows it. Release 4.4 shows the block only when the transaction is named. */
function shownIn(dialect: Dialect, entry: Entry, isByTxid: boolean): object {
  const { txid, height, chainlock = false } = entry;
  const common = { versionhash: HASH, datasize: BYTES.length };
  const block = height === undefined ? {} : { blockhash: BLOCK, height };
  if (dialect === 'svc') return common;
  if (dialect === 'syscoin-4.4') return { ...common, mpt: 1, ...(isByTxid ? block : {}) };
  return { ...common, mtp: 1, txid, ...block, ...(height === undefined ? {} : { chainlock }) };
}

export const headerAt = (height: number) => ({
  hash: BLOCK,
  height,
  confirmations: 0,
  merkleroot: '',
  time: 1,
  mediantime: 1,
  nTx: 1,
  chainlock: false,
});
export const creates = (seen: readonly Seen[]) =>
  seen.filter((one) => /createnevmblob$/.test(String(callOf(one).method))).length;

export const forbidden: Answering = (response) => response.writeHead(403).end();
export const errorPage: Answering = (response) => response.writeHead(500).end('<html>Server error</html>');
export const unknownThere: Answering = (response, seen) =>
  rpcError(response, seen, -5, 'No such transaction, or block.');

/** Answers of a node that has our transaction neither in its mempool nor in its only block. */
export const nowhere: Readonly<Record<string, Answering>> = {
  getrawtransaction: unknownThere,
  getbestblockhash: (response, seen) => result(response, seen, BLOCK),
  getblock: (response, seen) => result(response, seen, { ...headerAt(5), size: 1, tx: [] }),
};
/** The same, and the block has our transaction, which a node without an index does not know by its id. */
export const withoutIndex: Readonly<Record<string, Answering>> = {
  ...nowhere,
  getblock: (response, seen) => result(response, seen, { ...headerAt(5), size: 1, tx: [TXID] }),
};
/** Such answers after the first one, which has our transaction in the mempool. */
export function onceWaiting(others: Readonly<Record<string, Answering>>): Readonly<Record<string, Answering>> {
  let asked = 0;
  const getrawtransaction: Answering = (response, seen, request) => {
    asked += 1;
    if (asked === 1) return result(response, seen, { txid: TXID, version: 137, vout: [] });
    return others['getrawtransaction']?.(response, seen, request);
  };
  return { ...others, getrawtransaction };
}

export const ours = { txid: TXID };
export const mined = { txid: TXID, height: 5 };
export const locked = { txid: TXID, height: 5, chainlock: true };
