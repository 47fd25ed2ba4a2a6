import type { WithheldLedger } from '../catalog/withheld-ledger.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import type { Unavailable, Withheld } from '../view/archive-view.ts';

/** Decides whether a name may be served. Every reader asks it first. */
export interface Gate {
  /** Returns null when the name may be served. */
  refusal(name: NamedHash): Withheld | Unavailable | null;
}

/** A gate over the catalog's take-downs, in memory. */
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
