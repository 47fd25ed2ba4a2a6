import type { Catalog } from '../../catalog/catalog.ts';
import type { OccurrenceProofs } from '../../chain/occurrence-proofs.ts';
import type { NamedHash } from '../../core/blob/ids.ts';
import type { ChainState } from '../../view/chain-state.ts';
import type { ProofLookup } from '../../view/chain-view.ts';
import { entriesOf } from '../entries-of.ts';
import type { CatalogGate } from '../gate.ts';
import { leftOutIn } from '../left-out.ts';
import { chainUnavailable } from './chain-unavailable.ts';

/** The proofs of final occurrences that may be given out. */
export class FinalProofs {
  readonly #catalog: Catalog;
  readonly #gate: CatalogGate;
  readonly #chain: Pick<ChainState, 'finalHeight'>;
  readonly #proofs: OccurrenceProofs;

  constructor(catalog: Catalog, gate: CatalogGate, chain: Pick<ChainState, 'finalHeight'>, proofs: OccurrenceProofs) {
    this.#catalog = catalog;
    this.#gate = gate;
    this.#chain = chain;
    this.#proofs = proofs;
  }

  async of(name: NamedHash, signal: AbortSignal): Promise<ProofLookup> {
    const refusal = this.#gate.refusal(name);
    if (refusal !== null) return refusal;
    const final = this.#chain.finalHeight;
    const contents = entriesOf(this.#catalog, name);
    if (contents.length === 0) return leftOutIn(this.#catalog, name) ?? { kind: 'absent' };
    const found = await this.#proofs.of(contents, final, signal);
    switch (found.kind) {
      case 'found':
        return found;
      case 'none-final':
        return chainUnavailable('not-final', 'No occurrence of it is final yet, so there is no record of one.', 60);
      case 'none-good':
        return chainUnavailable('store-fault', found.message, 30);
      default:
        return found satisfies never;
    }
  }
}
