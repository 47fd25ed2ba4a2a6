import { ESTIMATE_MODES, type FeeOptions } from '../node/index.ts';
import { CliError } from './errors.ts';

/** `--conf-target`, `--estimate-mode` and `--fee-rate`, decoded; the client checks what they may be together. */
export function feeOptions(own: Readonly<Record<string, unknown>>): FeeOptions {
  const { confTarget, estimateMode, feeRate } = own;
  return {
    ...(typeof confTarget === 'string' ? { confTarget: wholeBlocks(confTarget) } : {}),
    ...(typeof estimateMode === 'string' ? { estimateMode: knownMode(estimateMode) } : {}),
    ...(typeof feeRate === 'string' ? { feeRate } : {}),
  };
}

export function wholeBlocks(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw usage(`A confirmation target is a whole number of blocks, not ${text}.`);
}

export function knownMode(text: string): (typeof ESTIMATE_MODES)[number] {
  const mode = ESTIMATE_MODES.find((one) => one === text.toLowerCase());
  if (mode !== undefined) return mode;
  throw usage(`An estimate mode is one of ${ESTIMATE_MODES.join(', ')}, not ${text}.`);
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, {
    retryable: false,
    hint: 'Leave it out to use what the wallet is set to.',
  });
}
