import type { Catalog } from '../catalog/catalog.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';

/** What the operator calls final. Never inferred from an error of the node. */
export type FinalityRule = { readonly kind: 'chainlock' } | { readonly kind: 'depth'; readonly blocks: number };

/** `chainlock`, or `depth:<n>`: n confirmations. */
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
 * Moves the final height. What was walked is one branch, each block the parent of the next, so a locked block on it makes
 * all below it final, and one number says that for any number of occurrences. A locked block that is not on it, or no
 * answer, decides nothing.
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

  /** Is there anything on our branch that is not final yet? */
  get isBehind(): boolean {
    const { tip, finalHeight } = this.#catalog.chain.state;
    return tip !== null && (finalHeight === null || finalHeight < tip.height);
  }

  /** true: more is final than before. */
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
    // Looked up after the answer, in one go with the recording: the branch cannot change between.
    const height = lock === null ? null : chain.heightOf(lock.hash);
    if (height !== null) chain.recordFinal(height);
  }
}
