import type { ChainUnavailable, ChainView } from '../../src/view/chain-view.ts';

const NOT_WALKED: ChainUnavailable = {
  kind: 'unavailable',
  reason: 'not-walked',
  message: 'This process does not walk the chain; ask the archiver.',
  retryAfterSeconds: 60,
};

/** The view of a process that walks no chain. */
export const NO_CHAIN: ChainView = {
  transaction: () => NOT_WALKED,
  transactionAsked: async () => NOT_WALKED,
  block: () => NOT_WALKED,
  blockAsked: async () => NOT_WALKED,
  proofs: async () => NOT_WALKED,
  storedAndFinal: () => NOT_WALKED,
  lastBlock: () => NOT_WALKED,
  tip: () => NOT_WALKED,
  headerMembers: async () => null,
  chainLock: () => ({ kind: 'absent' }),
  newestOccurrence: () => NOT_WALKED,
  window: () => NOT_WALKED,
};
