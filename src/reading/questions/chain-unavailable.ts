import type { ChainUnavailable, ChainUnavailableReason } from '../../view/chain-view.ts';

export function chainUnavailable(
  reason: ChainUnavailableReason,
  message: string,
  retryAfterSeconds: number,
): ChainUnavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
