import { z } from 'zod';
import type { TxId } from '../core/blob/ids.ts';
import { assetGuid } from './asset-guid.ts';
import type { Decimal } from './decimal.ts';
import { decimal } from './decimal-field.ts';
import { decode, txId } from './decode.ts';
import { NodeError } from './errors.ts';

const MAX_REASON_CHARS = 500;

/** Units of one token that one transaction sent to all recipients. */
export interface SentAllocation {
  readonly guid: bigint;
  readonly amount: Decimal;
  /** Native coins sent with the token; null when the node does not report them. */
  readonly nativeAmount: Decimal | null;
}

export interface AssetSent {
  readonly txid: TxId;
  /** Number of tokens in the transaction, counted by the node; null when the node does not report it. */
  readonly allocationCount: number | null;
  /** Tokens of the transaction; empty when the node does not report them. */
  readonly allocations: readonly SentAllocation[];
}

const sent = z.object({
  txid: txId,
  assetallocations_sent_count: z.int().nonnegative().optional(),
  assetallocations_sent: z
    .array(
      z.object({
        asset_guid: assetGuid,
        amount: decimal,
        svc_amount: decimal.optional(),
        sys_amount: decimal.optional(),
      }),
    )
    .default([]),
});

/** Answer of release 4.2 where the wallet could not sign every input. It broadcast nothing, although the call succeeds. */
const unsigned = z.object({
  txid: z.undefined().optional(),
  complete: z.literal(false),
  errors: z.array(z.object({ error: z.string() })).catch([]),
});

/** @throws NodeError `node/malformed-answer`; `node/rpc-error` for a transaction that the wallet could not sign */
export function readSent(result: unknown, method: string): AssetSent {
  const refused = unsigned.safeParse(result);
  if (refused.success) throw notSigned(method, refused.data.errors);
  const { txid, assetallocations_sent_count: count, assetallocations_sent } = decode(sent, result, method);
  return {
    txid,
    allocationCount: count ?? null,
    allocations: assetallocations_sent.map((one) => ({
      guid: one.asset_guid,
      amount: one.amount,
      nativeAmount: one.svc_amount ?? one.sys_amount ?? null,
    })),
  };
}

function notSigned(method: string, errors: readonly { readonly error: string }[]): NodeError {
  const [first] = errors;
  const why = first === undefined ? '' : `: ${first.error.slice(0, MAX_REASON_CHARS)}`;
  return new NodeError('node/rpc-error', `The node sent nothing, because its wallet cannot sign every input${why}`, {
    details: { method, unsignedInputs: errors.length },
    retryable: false,
    hint: 'Use the wallet that has the keys of these tokens and coins.',
  });
}
