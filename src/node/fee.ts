import { checkConfTarget } from './arguments.ts';
import { parseFeeRate } from './decimal.ts';
import { invalidArgument } from './errors.ts';

export const ESTIMATE_MODES = ['unset', 'economical', 'conservative'] as const;
export type EstimateMode = (typeof ESTIMATE_MODES)[number];

/** Release 5 has no fee arguments for blobs; naming one there is an error. */
export interface FeeOptions {
  /** Blocks, 1 to 1,008. Default: that of the wallet. */
  readonly confTarget?: number;
  readonly estimateMode?: EstimateMode;
  /** sat/vB, decimal. Default: the wallet estimates. */
  readonly feeRate?: string;
}

/** @throws NodeError `node/invalid-argument` */
export function feeValues(fee: FeeOptions): { conf_target?: number; estimate_mode?: string; fee_rate?: string } {
  checkConfTarget(fee.confTarget);
  return {
    ...(fee.confTarget === undefined ? {} : { conf_target: fee.confTarget }),
    ...(fee.estimateMode === undefined ? {} : { estimate_mode: checkedMode(fee.estimateMode) }),
    ...(fee.feeRate === undefined ? {} : { fee_rate: parseFeeRate(fee.feeRate) }),
  };
}

/** Callers without types write it in any case, as the specification allows in one place. */
export function checkedMode(mode: string): EstimateMode {
  const known = ESTIMATE_MODES.find((one) => one === mode.toLowerCase());
  if (known !== undefined) return known;
  throw invalidArgument(
    `An estimate mode is one of ${ESTIMATE_MODES.join(', ')}; not ${JSON.stringify(mode.slice(0, 40))}.`,
    'estimateMode',
    mode.slice(0, 40),
  );
}
