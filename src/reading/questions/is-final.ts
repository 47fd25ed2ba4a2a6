import type { ChainState } from '../../view/chain-state.ts';

/** Reports whether a block of this height, on the walked branch, is final. */
export function isFinal({ finalHeight }: Pick<ChainState, 'finalHeight'>, height: number): boolean {
  return finalHeight !== null && height <= finalHeight;
}
