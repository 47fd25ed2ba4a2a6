import type { CallSite, NodeContext } from './node-context.ts';
import type { Params } from './params.ts';
import { RpcError } from './rpc-error.ts';
import { WireNumber, type WireValue } from './wire-value.ts';

const MAX_CONFIRM_TARGET = 1008;
const ESTIMATE_MODES = new Set(['unset', 'economical', 'conservative']);
const MAX_FEE_DECIMALS = 3;

/** The wallet of a call. When several are loaded, the path must name one. */
export function walletOf(node: NodeContext, site: CallSite): string {
  if (site.walletName !== null) {
    if (node.wallets.includes(site.walletName)) return site.walletName;
    throw new RpcError('walletNotFound', 'Requested wallet does not exist or is not loaded');
  }
  const [only, another] = node.wallets;
  if (only === undefined) {
    throw new RpcError(
      'walletNotFound',
      'No wallet is loaded. Load a wallet using loadwallet or create a new one with createwallet. (Note: A default wallet is no longer automatically created)',
    );
  }
  if (another === undefined) return only;
  throw new RpcError(
    'walletNotSpecified',
    'Wallet file not specified (must request wallet RPC through /wallet/<filename> uri-path).',
  );
}

/** Validates the fee arguments of a dialect. Returns sat/vB, or null when the wallet decides. */
export function checkFee(params: Params): bigint | null {
  const rate = params.get('fee_rate');
  const target = params.optionalNumber('conf_target');
  const mode = params.optionalString('estimate_mode');
  checkEstimate(mode, rate === null ? target : null);
  if (rate === null) return null;
  if (target !== null) {
    throw new RpcError(
      'invalidParameter',
      'Cannot specify both conf_target and fee_rate. Please provide either a confirmation target in blocks for automatic fee estimation, or an explicit fee rate.',
    );
  }
  if (mode !== null && mode.toLowerCase() !== 'unset') {
    throw new RpcError('invalidParameter', 'Cannot specify both estimate_mode and fee_rate');
  }
  return wholeSats(rate);
}

export function checkEstimate(mode: string | null, target: number | null): void {
  if (mode !== null && !ESTIMATE_MODES.has(mode.toLowerCase())) {
    throw new RpcError(
      'invalidParameter',
      'Invalid estimate_mode parameter, must be one of: "unset", "economical", "conservative"',
    );
  }
  if (target !== null && (target < 1 || target > MAX_CONFIRM_TARGET)) {
    throw new RpcError('invalidParameter', `Invalid conf_target, must be between 1 and ${MAX_CONFIRM_TARGET}`);
  }
}

/** Parses a rate with up to three decimals. The emulated wallet pays whole sats, rounded up. */
function wholeSats(rate: WireValue): bigint {
  const text = rate instanceof WireNumber ? rate.source : rate;
  const match = typeof text === 'string' ? /^(\d{1,12})(?:\.(\d+))?$/.exec(text) : null;
  if (match === null || (match[2] ?? '').length > MAX_FEE_DECIMALS) throw new RpcError('type', 'Invalid amount');
  return BigInt(match[1] ?? '0') + (/[1-9]/.test(match[2] ?? '') ? 1n : 0n);
}
