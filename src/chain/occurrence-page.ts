import type { ChainIndex } from '../catalog/chain-index.ts';
import type { ChainPlace, PlacedOccurrence } from '../catalog/occurrence-table.ts';
import type { ContentName, TxId } from '../core/blob/ids.ts';
import type { OccurrencePage, OccurrenceStatus } from '../view/archive-view.ts';

/** Occurrences of one page. */
const PAGE = 16;

/** One page of the occurrences of a content in the order of the chain; unconfirmed ones come last. */
export function occurrencePage(
  chain: Pick<ChainIndex, 'occurrences' | 'ofTransaction'>,
  name: ContentName,
  about: { readonly finalHeight: number | null; readonly listedTxid: TxId | null; readonly after: string | null },
): OccurrencePage {
  const { finalHeight, listedTxid, after } = about;
  const found = chain.occurrences(name, after === null ? null : parsePlace(after), PAGE + 1);
  const page = found.slice(0, PAGE).map((occurrence) => describe(occurrence, finalHeight));
  const last = found[PAGE - 1];
  if (found.length > PAGE && last !== undefined) return { occurrences: page, next: placeText(last) };
  // A listed transaction may be unconfirmed, or its block disconnected.
  const isHere = page.some(({ txid }) => txid === listedTxid);
  if (listedTxid !== null && !isHere && chain.ofTransaction(listedTxid) === null) page.push(unconfirmed(listedTxid));
  return { occurrences: page, next: null };
}

function describe(
  { txid, vout, height, blockHash, medianTimeSeconds, senders }: PlacedOccurrence,
  finalHeight: number | null,
): OccurrenceStatus {
  const state = finalHeight !== null && height <= finalHeight ? 'final' : 'mined';
  const known = senders === undefined ? {} : { senders };
  return { state, txid, vout, height, blockHash, medianTimeSeconds, ...known };
}

function unconfirmed(txid: TxId): OccurrenceStatus {
  return { state: 'unconfirmed', txid, vout: null, height: null, blockHash: null, medianTimeSeconds: null };
}

function placeText({ height, transactionIndex }: ChainPlace): string {
  return `${height}-${transactionIndex}`;
}

/** A malformed position starts at the first page: the text comes from a client. */
function parsePlace(text: string): ChainPlace | null {
  const match = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  return match === null ? null : { height: Number(match[1]), transactionIndex: Number(match[2]) };
}
