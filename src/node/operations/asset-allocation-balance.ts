import { z } from 'zod';
import { checkAddress } from '../arguments.ts';
import { checkedGuid, wireGuid } from '../asset-guid.ts';
import type { NodeClient } from '../client.ts';
import type { Decimal } from '../decimal.ts';
import { decimal } from '../decimal-field.ts';
import { decode } from '../decode.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';

export interface AssetBalance {
  /** Native coins that carry the token. */
  readonly nativeAmount: Decimal;
  readonly assetAmount: Decimal;
}

const balance = z.object({ amount: decimal, asset_amount: decimal });

/** Balance of the whole wallet without `addresses`. Release 4.2 reads an empty list likewise. */
export function assetAllocationBalanceCall(guid: bigint, addresses?: readonly string[]): NodeCall<AssetBalance> {
  checkedGuid(guid);
  for (const address of addresses ?? []) checkAddress(address);
  return {
    operation: 'assetAllocationBalance',
    named: ({ dialect }) => ({
      asset_guid: wireGuid(guid, dialect),
      // The specification has a JSON array in a string here, and release 4.2 the array itself.
      addresses: dialect === 'svc' && addresses !== undefined ? JSON.stringify(addresses) : addresses,
    }),
    limitBytes: SMALL_ANSWER_BYTES,
    decode(result) {
      const { amount, asset_amount } = decode(balance, result, 'assetAllocationBalance');
      return { nativeAmount: amount, assetAmount: asset_amount };
    },
  };
}

export async function assetAllocationBalance(
  client: NodeClient,
  guid: bigint,
  options: CallOptions & { readonly addresses?: readonly string[] } = {},
): Promise<AssetBalance> {
  return client.run(assetAllocationBalanceCall(guid, options.addresses), options);
}
