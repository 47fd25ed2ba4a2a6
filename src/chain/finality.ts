import type { Catalog } from '../catalog/catalog.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';

/** The operator's rule for finality. It is never inferred from an error of the node. */
export type FinalityRule = { readonly kind: 'chainlock' } | { readonly kind: 'depth'; readonly blocks: number };

/** Parses `chainlock` or `depth:<n>`, where n counts confirmations. */
export function parseFinality(text: string): FinalityRule {
  if (text === 'chainlock') return { kind: 'chainlock' };
  const blocks = Number(/^depth:([1-9]\d{0,5})$/.exec(text)?.[1] ?? 0);
  if (blocks > 0) return { kind: 'depth', blocks };
  throw new ChainError('chain/bad-finality', `${JSON.stringify(text)} is no rule of finality.`, {
    retryable: false,
    hint: 'Set HOLDFAST_FINALITY to chainlock, or to depth:<confirmations> where the network has no ChainLocks.',
  });
}

export function describeFinality(rule: FinalityRule): string {
  return rule.kind === 'chainlock' ? 'chainlock' : `depth:${rule.blocks}`;
}

/**
 * Moves the final height. The followed blocks are one branch, so a locked block on it makes every block below final. A
 * locked block outside the branch, or a missing answer, decides nothing.
 */
export class Finality {
  readonly #rule: FinalityRule;
  readonly #node: ChainNode;
  readonly #catalog: Catalog;

  constructor(rule: FinalityRule, node: ChainNode, catalog: Catalog) {
    this.#rule = rule;
    this.#node = node;
    this.#catalog = catalog;
    catalog.chain.useFinality(describeFinality(rule));
  }

  /** Reports whether the branch has blocks that are not final. */
  get isBehind(): boolean {
    const { tip, finalHeight } = this.#catalog.chain.state;
    return tip !== null && (finalHeight === null || finalHeight < tip.height);
  }

  /** Resolves to true when more blocks are final than before. */
  async look(signal: AbortSignal): Promise<boolean> {
    const { chain } = this.#catalog;
    const before = chain.state.finalHeight;
    await this.#move(signal);
    return chain.state.finalHeight !== before;
  }

  async #move(signal: AbortSignal): Promise<void> {
    const { chain } = this.#catalog;
    if (this.#rule.kind === 'depth') {
      const { tip, startHeight } = chain.state;
      const height = tip === null ? -1 : tip.height - this.#rule.blocks + 1;
      if (startHeight !== null && height >= startHeight) chain.recordFinal(height);
      return;
    }
    const lock = await this.#node.bestChainLock(signal);
    // The look-up and the recording run after the answer without a break, so the branch cannot change in between.
    const height = lock === null ? null : chain.heightOf(lock.hash);
    if (height !== null) chain.recordFinal(height);
  }
}
