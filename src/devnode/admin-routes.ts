import { z } from 'zod';
import { decodeHex } from '../core/blob/hex.ts';
import { HASH_TYPES, type HashType } from '../core/blob/ids.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import type { EmulatedChain } from './chain/emulated-chain.ts';
import { FaultRule } from './faults/fault.ts';
import type { FaultBoard } from './faults/fault-board.ts';

/** The part of a devnode that the admin routes change. */
export interface AdminTarget {
  readonly url: string;
  readonly chain: EmulatedChain;
  readonly faults: FaultBoard;
  nowSeconds(): number;
  mine(count: number, how: { withoutBytes: boolean }): unknown;
  setBlocksEvery(milliseconds: number | null): void;
  advanceSeconds(seconds: number): void;
  submitBlob(bytes: Uint8Array, how: { hashType: HashType; versionHash?: string }): unknown;
  reorganise(depth: number, how: { blocks: number; remine: boolean; drop: readonly string[] }): unknown;
  dropTransaction(txid: string): string[];
  announceChainLock(blockHash: string, height: number): void;
  setChainLocks(policy: ChainLockPolicy): void;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export type AdminRoute = (devnode: AdminTarget, body: unknown) => unknown;

/** Defines a route. The schema validates the body before the action receives it. */
function route<T extends z.ZodType>(
  schema: T,
  action: (devnode: AdminTarget, body: z.output<T>) => unknown,
): AdminRoute {
  return (devnode, body) => action(devnode, schema.parse(body));
}

const count = z.int().min(0).max(100_000);
const txid = z.string().regex(/^[0-9a-fA-F]{64}$/);
const nothing = z.strictObject({});

/** Routes that control a devnode from another process, named like its methods. */
export const ADMIN_ROUTES: Readonly<Record<string, AdminRoute>> = {
  'GET /state': route(nothing, (devnode) => stateOf(devnode)),
  'POST /faults': route(FaultRule, (devnode, rule) => {
    devnode.faults.add(rule);
    return {};
  }),
  'DELETE /faults': route(nothing, (devnode) => {
    devnode.faults.clear();
    return {};
  }),
  'POST /mine': route(
    z.strictObject({ count: count.default(1), withoutBytes: z.boolean().default(false) }),
    (devnode, body) => {
      devnode.mine(body.count, { withoutBytes: body.withoutBytes });
      return stateOf(devnode);
    },
  ),
  'POST /blocks-every': route(z.strictObject({ ms: z.int().positive().nullable() }), (devnode, { ms }) => {
    devnode.setBlocksEvery(ms);
    return stateOf(devnode);
  }),
  'POST /advance': route(z.strictObject({ seconds: z.number() }), (devnode, { seconds }) => {
    devnode.advanceSeconds(seconds);
    return stateOf(devnode);
  }),
  'POST /submit': route(
    z.strictObject({
      data: z.string(),
      hashType: z.enum(HASH_TYPES).default('keccak256'),
      /** A version hash that the data does not hash to: a custom commitment, which only dialect svc has. */
      versionHash: txid.optional(),
    }),
    (devnode, { data, hashType, versionHash }) =>
      devnode.submitBlob(decodeHex(data), versionHash === undefined ? { hashType } : { hashType, versionHash }),
  ),
  'POST /reorganise': route(
    z.strictObject({
      depth: count,
      blocks: count.optional(),
      remine: z.boolean().default(true),
      drop: z.array(txid).default([]),
    }),
    (devnode, { depth, blocks = depth + 1, remine, drop }) => {
      devnode.reorganise(depth, { blocks, remine, drop });
      return stateOf(devnode);
    },
  ),
  'POST /drop': route(z.strictObject({ txid }), (devnode, body) => ({ dropped: devnode.dropTransaction(body.txid) })),
  'POST /chainlock': route(z.strictObject({ blockHash: txid, height: count }), (devnode, { blockHash, height }) => {
    devnode.announceChainLock(blockHash, height);
    return stateOf(devnode);
  }),
  'POST /chainlocks': route(z.strictObject({ lagBlocks: count.nullable() }), (devnode, { lagBlocks }) => {
    devnode.setChainLocks(lagBlocks === null ? { kind: 'none' } : { kind: 'follow', lagBlocks });
    return stateOf(devnode);
  }),
  'POST /go-away': route(nothing, async (devnode) => {
    await devnode.goAway();
    return {};
  }),
  'POST /come-back': route(nothing, async (devnode) => {
    await devnode.comeBack();
    return {};
  }),
};

function stateOf(devnode: AdminTarget): unknown {
  const { tip, mempool, cache, locks } = devnode.chain;
  return {
    url: devnode.url,
    nowSeconds: devnode.nowSeconds(),
    height: tip.height,
    hash: tip.hash,
    medianTimeSeconds: tip.medianTimeSeconds,
    waiting: mempool.size,
    cached: cache.size,
    chainLock: locks.best,
  };
}
