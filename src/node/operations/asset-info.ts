import { z } from 'zod';
import { assetGuid, checkedGuid, wireGuid } from '../asset-guid.ts';
import type { NodeClient } from '../client.ts';
import type { Decimal } from '../decimal.ts';
import { decimal } from '../decimal-field.ts';
import { decode } from '../decode.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';

export interface AssetInfo {
  readonly guid: bigint;
  /** Symbol, which is not unique; the guid is. */
  readonly symbol: string;
  readonly description: string | null;
  /** Contract address; may be empty. */
  readonly contract: string;
  /** Notary address; may be empty. */
  readonly notaryAddress: string;
  readonly totalSupply: Decimal;
  readonly maxSupply: Decimal;
  /** Capability bits. The specification does not say what they mean. */
  readonly updateCapabilityFlags: number;
  /** Decimal places of the token. */
  readonly precision: number;
}

const info = z.object({
  asset_guid: assetGuid,
  symbol: z.string(),
  /** Release 4.2 gives null for a token without public data. */
  public_value: z.object({ desc: z.string().optional() }).nullish(),
  contract: z.string().default(''),
  notary_address: z.string().default(''),
  total_supply: decimal,
  max_supply: decimal,
  updatecapability_flags: z.int(),
  precision: z.int().min(0).max(8),
});

export function assetInfoCall(guid: bigint): NodeCall<AssetInfo> {
  checkedGuid(guid);
  return {
    operation: 'assetInfo',
    named: (release) => ({ asset_guid: wireGuid(guid, release.dialect) }),
    limitBytes: SMALL_ANSWER_BYTES,
    decode(result) {
      const asset = decode(info, result, 'assetInfo');
      return {
        guid: asset.asset_guid,
        symbol: asset.symbol,
        description: asset.public_value?.desc ?? null,
        contract: asset.contract,
        notaryAddress: asset.notary_address,
        totalSupply: asset.total_supply,
        maxSupply: asset.max_supply,
        updateCapabilityFlags: asset.updatecapability_flags,
        precision: asset.precision,
      };
    },
  };
}

/** Describes a token. Available in release line 4.2 and the specification only. */
export async function assetInfo(client: NodeClient, guid: bigint, options: CallOptions = {}): Promise<AssetInfo> {
  return client.run(assetInfoCall(guid), options);
}
