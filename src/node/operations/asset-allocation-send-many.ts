import { checkAddress, checkConfTarget, replaceableFor } from '../arguments.ts';
import { checkedGuid, wireGuid } from '../asset-guid.ts';
import type { NodeClient } from '../client.ts';
import { parseAmount, parseNativeAmount } from '../decimal.ts';
import { invalidArgument } from '../errors.ts';
import { checkedMode, type FeeOptions } from '../fee.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';
import { type AssetSent, readSent } from '../sent-allocations.ts';
import type { AssetAllocation, ReplaceableOptions } from './asset-allocation-send.ts';

export interface SendManyOptions extends ReplaceableOptions, Pick<FeeOptions, 'confTarget' | 'estimateMode'> {
  readonly comment?: string;
}

/** Most recipients of one transaction (specification). */
export const MAX_RECIPIENTS = 250;

export function assetAllocationSendManyCall(
  allocations: readonly AssetAllocation[],
  options: SendManyOptions = {},
): NodeCall<AssetSent> {
  if (allocations.length < 1 || allocations.length > MAX_RECIPIENTS) {
    const rule = `A transaction has 1 to ${MAX_RECIPIENTS} recipients; these are ${allocations.length}.`;
    throw invalidArgument(rule, 'allocations', allocations.length);
  }
  const checked = allocations.map(({ guid, address, amount, nativeAmount }, at) => {
    checkAddress(address);
    return {
      guid: checkedGuid(guid),
      address,
      amount: parseAmount(amount, `allocations[${at}].amount`),
      native:
        nativeAmount === undefined ? undefined : parseNativeAmount(nativeAmount, `allocations[${at}].nativeAmount`),
    };
  });
  checkConfTarget(options.confTarget);
  const replaceable = replaceableFor(options);
  return {
    operation: 'assetAllocationSendMany',
    named: ({ dialect }) => ({
      amounts: checked.map(({ guid, address, amount, native }) => ({
        asset_guid: wireGuid(guid, dialect),
        address,
        amount,
        ...(native === undefined ? {} : { [dialect === 'svc' ? 'svc_amount' : 'sys_amount']: native }),
      })),
      replaceable,
      comment: options.comment,
      conf_target: options.confTarget,
      // The specification has upper case in this call only.
      estimate_mode: options.estimateMode === undefined ? undefined : checkedMode(options.estimateMode).toUpperCase(),
    }),
    limitBytes: SMALL_ANSWER_BYTES,
    decode: (result) => readSent(result, 'assetAllocationSendMany'),
  };
}

/** Sends tokens to up to 250 addresses in one transaction: signs and broadcasts it. */
export async function assetAllocationSendMany(
  client: NodeClient,
  allocations: readonly AssetAllocation[],
  options: SendManyOptions & CallOptions = {},
): Promise<AssetSent> {
  return client.run(assetAllocationSendManyCall(allocations, options), options);
}
