import { checkConfTarget } from './arguments.ts';
import { parseFeeRate } from './decimal.ts';
import { invalidArgument } from './errors.ts';

export const ESTIMATE_MODES = ['unset', 'economical', 'conservative'] as const;
export type EstimateMode = (typeof ESTIMATE_MODES)[number];

/** Fee arguments. Release 5 has none for blobs and refuses them. */
export interface FeeOptions {
  /** Confirmation target in blocks, 1 to 1,008. Default: the wallet's. */
  readonly confTarget?: number;
  readonly estimateMode?: EstimateMode;
  /** Fee rate in sat/vB as decimal text. Default: the wallet's estimate. */
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

/** Callers without types may use any case, as the specification allows in one place. */
export function checkedMode(mode: string): EstimateMode {
  const known = ESTIMATE_MODES.find((one) => one === mode.toLowerCase());
  if (known !== undefined) return known;
  throw invalidArgument(
    `An estimate mode is one of ${ESTIMATE_MODES.join(', ')}; not ${JSON.stringify(mode.slice(0, 40))}.`,
    'estimateMode',
    mode.slice(0, 40),
  );
}
