import type { NamedHash } from '../core/blob/ids.ts';
import type { Receipt } from '../verify/receipt.ts';
import type { NotGiven } from './archive-view.ts';
import type { ChainUnavailable } from './chain-view.ts';

export type ReceiptLookup =
  | { readonly kind: 'found'; readonly receipt: Receipt }
  | { readonly kind: 'not-yet'; readonly why: ChainUnavailable }
  | NotGiven;

/** Signed receipts for single blobs. */
export interface ReceiptView {
  /** Signed only while the blob is stored and an occurrence of it is final. */
  receipt(name: NamedHash, signal: AbortSignal): Promise<ReceiptLookup>;
}
