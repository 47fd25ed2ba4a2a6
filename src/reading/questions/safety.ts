import type { Catalog } from '../../catalog/catalog.ts';
import type { VersionHash } from '../../core/blob/ids.ts';
import type { ChainState } from '../../view/chain-state.ts';
import type { LastBlock, SafetyAnswer } from '../../view/chain-view.ts';
import type { Gate } from '../gate.ts';
import type { LastSavedBlock } from '../last-saved-block.ts';
import { chainUnavailable } from './chain-unavailable.ts';
import type { Doubts } from './doubts.ts';
import { isFinal } from './is-final.ts';

/** Readers ask again after this where the last block has to be searched for. */
const SEARCH_SECONDS = 5;

/** Answers what is stored and final, blob by blob and up to which block. */
export class Safety {
  readonly #catalog: Catalog;
  readonly #gate: Gate;
  readonly #chain: Pick<ChainState, 'finalHeight'>;
  readonly #doubts: Doubts;
  readonly #lastSaved: LastSavedBlock;

  constructor(
    catalog: Catalog,
    gate: Gate,
    chain: Pick<ChainState, 'finalHeight'>,
    doubts: Doubts,
    lastSaved: LastSavedBlock,
  ) {
    this.#catalog = catalog;
    this.#gate = gate;
    this.#chain = chain;
    this.#doubts = doubts;
    this.#lastSaved = lastSaved;
  }

  storedAndFinal(hashes: readonly VersionHash[]): SafetyAnswer {
    const safe = hashes.map((versionHash) => this.#isSafe(versionHash));
    const isWithheld = (versionHash: VersionHash) =>
      this.#gate.refusal({ versionHash, hashType: null })?.kind === 'withheld';
    // `false` is always true of withheld content.
    const doubtful = hashes.filter((versionHash, index) => safe[index] === false && !isWithheld(versionHash));
    if (doubtful.length === 0) return { kind: 'told', safe };
    const why = this.#doubts.whyNotAbsent() ?? this.#doubts.whyNotPlaced(doubtful) ?? this.#doubts.whyHistory(doubtful);
    return why ?? { kind: 'told', safe };
  }

  lastBlock(): LastBlock {
    const catalog = this.#catalog;
    const { startHeight } = catalog.chain.state;
    const final = this.#chain.finalHeight;
    if (final === null || startHeight === null) return chainUnavailable('not-final', 'No block is final yet.', 30);
    const found = this.#lastSaved.find(startHeight, final);
    if (found.kind === 'searching')
      return chainUnavailable('not-placed', 'Up to where everything is stored is being looked for.', SEARCH_SECONDS);
    const { upTo } = found;
    const block = upTo < startHeight ? null : catalog.chain.blockAt(upTo);
    if (block === null) {
      return chainUnavailable(
        'not-placed',
        `A blob of block ${Math.max(upTo + 1, startHeight)}, where the walk began, is not stored yet.`,
        30,
      );
    }
    return { kind: 'found', block: { height: block.height, hash: block.hash } };
  }

  #isSafe(versionHash: VersionHash): boolean {
    const catalog = this.#catalog;
    return catalog.find(versionHash).some((content) => {
      if (content.state !== 'stored') return false;
      const first = catalog.chain.firstHeight(content);
      return first !== null && isFinal(this.#chain, first);
    });
  }
}
