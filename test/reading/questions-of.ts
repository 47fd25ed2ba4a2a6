import type { Catalog } from '../../src/catalog/catalog.ts';
import { OccurrenceProofs } from '../../src/chain/occurrence-proofs.ts';
import type { VersionHash } from '../../src/core/blob/ids.ts';
import type { Clock } from '../../src/core/time/clock.ts';
import type { ChainNode } from '../../src/node/chain-node.ts';
import { ChainQuestions } from '../../src/reading/chain-questions.ts';
import { CatalogGate } from '../../src/reading/gate.ts';
import { LastSavedBlock } from '../../src/reading/last-saved-block.ts';
import { Doubts } from '../../src/reading/questions/doubts.ts';
import { FinalProofs } from '../../src/reading/questions/final-proofs.ts';
import { NodeHeaders } from '../../src/reading/questions/node-headers.ts';
import { Places } from '../../src/reading/questions/places.ts';
import { Safety } from '../../src/reading/questions/safety.ts';
import { TransactionLists } from '../../src/reading/questions/transaction-lists.ts';
import { WindowEntries } from '../../src/reading/questions/window-entries.ts';
import type { ChainState } from '../../src/view/chain-state.ts';

interface Walk {
  /** Default: the node does not answer. */
  readonly header?: ChainNode['header'];
  /** Contents that the node lists without their transaction. Default: none. */
  readonly unnamed?: ReadonlySet<VersionHash>;
  readonly chain: Pick<ChainState, 'whyNotCurrent' | 'hasConflict' | 'lacksHistory' | 'finalHeight'>;
  readonly catalogRebuild: { readonly isDone: boolean };
  readonly isListCurrent: () => boolean;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** The questions over a catalog, with a node that answers nothing and lists nothing. */
export function questionsOf(catalog: Catalog, walk: Walk): ChainQuestions {
  const { chain, catalogRebuild, isListCurrent, clock, unnamed = new Set() } = walk;
  const { header = () => Promise.reject(new Error('No node.')) } = walk;
  const gate = new CatalogGate(catalog);
  const poller = {
    isListCurrent,
    isTransactionListed: () => false,
    listedUnnamed: unnamed,
    readAgain: async () => isListCurrent(),
  };
  const lists = {
    isOfSeveral: false,
    read: async () => ({ byHash: new Map(), transactions: new Set<never>(), silent: [] }),
  };
  const doubts = new Doubts(catalog, catalogRebuild, poller, chain);
  const headers = new NodeHeaders({ header }, clock);
  return new ChainQuestions(
    new Places(catalog, chain, doubts, new TransactionLists(poller, lists, catalog.chain), headers),
    new Safety(catalog, gate, chain, doubts, new LastSavedBlock(catalog, clock)),
    new FinalProofs(catalog, gate, chain, new OccurrenceProofs(catalog, [])),
    new WindowEntries(catalog, doubts, clock),
    headers,
  );
}
