import { checkAddress, replaceableFor } from '../arguments.ts';
import { checkedGuid, wireGuid } from '../asset-guid.ts';
import type { NodeClient } from '../client.ts';
import { parseAmount, parseNativeAmount } from '../decimal.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';
import { type AssetSent, readSent } from '../sent-allocations.ts';

export interface AssetAllocation {
  readonly guid: bigint;
  readonly address: string;
  /** Amount as decimal text with at most 8 decimals: `'1.5'`. */
  readonly amount: string;
  /** Native coins to send with the token, as decimal text. Default `'0'`: none. */
  readonly nativeAmount?: string;
}

export interface ReplaceableOptions {
  /** Whether a transaction with a higher fee may replace this one (BIP 125). Default: the wallet's. */
  readonly replaceable?: boolean;
  /** true requests the fast confirmation (Z-DAG), which sends `replaceable` as false. */
  readonly zdag?: boolean;
}

export function assetAllocationSendCall(
  allocation: AssetAllocation,
  options: ReplaceableOptions = {},
): NodeCall<AssetSent> {
  checkedGuid(allocation.guid);
  checkAddress(allocation.address);
  const amount = parseAmount(allocation.amount, 'amount');
  const native =
    allocation.nativeAmount === undefined ? undefined : parseNativeAmount(allocation.nativeAmount, 'nativeAmount');
  const replaceable = replaceableFor(options);
  return {
    operation: 'assetAllocationSend',
    named: ({ dialect }) => ({
      asset_guid: wireGuid(allocation.guid, dialect),
      address: allocation.address,
      amount,
      [dialect === 'svc' ? 'svc_amount' : 'sys_amount']: native,
      replaceable,
    }),
    limitBytes: SMALL_ANSWER_BYTES,
    decode: (result) => readSent(result, 'assetAllocationSend'),
  };
}

/** Sends a quantity of a token to one address: signs and broadcasts the transaction. */
export async function assetAllocationSend(
  client: NodeClient,
  allocation: AssetAllocation,
  options: ReplaceableOptions & CallOptions = {},
): Promise<AssetSent> {
  return client.run(assetAllocationSendCall(allocation, options), options);
}
