import type { WithheldLedger } from '../catalog/withheld-ledger.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import type { Unavailable, Withheld } from '../view/archive-view.ts';

/** Asked before anything of a name is given out, whatever it is and wherever it lies. */
export interface Gate {
  /** null: nobody forbids it to be given out. */
  refusal(name: NamedHash): Withheld | Unavailable | null;
}

/** What the catalog knows of take-downs; from memory. */
export class CatalogGate implements Gate {
  readonly #withheld: Pick<WithheldLedger, 'find' | 'publicReason'>;

  constructor({ withheld }: { readonly withheld: Pick<WithheldLedger, 'find' | 'publicReason'> }) {
    this.#withheld = withheld;
  }

  refusal(name: NamedHash): Withheld | null {
    const [first] = this.#withheld.find(name);
    if (first === undefined) return null;
    const publicReason = this.#withheld.publicReason(name);
    return { kind: 'withheld', at: new Date(first.atMs).toISOString(), publicReason };
  }
}
