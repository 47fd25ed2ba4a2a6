import { nameOf } from './block-panel.ts';
import { copyable } from './copy-button.ts';
import { blockLink, entryList, table, transactionLink } from './details.ts';
import { element } from './element.ts';
import type { ChainBlock } from './model/chain-block.ts';
import { count } from './model/words.ts';
import { moment } from './moment.ts';

/** Shows a block as the archive tells of it, with the way to its neighbours and to each of its blobs. */
export function chainBlock(block: ChainBlock): HTMLElement[] {
  const { height, hash, previousHash, timeSeconds, medianTimeSeconds, state, occurrences } = block;
  const badge = state === 'final' ? 'final' : state === 'mined' ? 'not final yet' : 'unknown state';
  return [
    element(
      'h3',
      {},
      `Block ${count(height)} `,
      element('span', { class: `badge ${state === 'final' ? 'good' : ''}` }, badge),
    ),
    element(
      'p',
      {},
      ...(height > 0 ? [blockLink(height - 1, `← Block ${count(height - 1)}`), ' · '] : []),
      blockLink(height + 1, `Block ${count(height + 1)} →`),
    ),
    entryList([
      ['Block hash', copyable('block hash', hash)],
      ['Block before', blockLink(previousHash, previousHash)],
      ['Time', moment(timeSeconds * 1_000)],
      ['Median time', moment(medianTimeSeconds * 1_000)],
    ]),
    table(
      'Blobs of this block',
      ['Version hash', 'Hash type', 'Transaction', 'Output'],
      occurrences.map(({ versionHash, hashType, txid, vout }) => [
        element('a', { class: 'hash', href: `#/${nameOf({ versionHash, hashType })}` }, versionHash),
        hashType ?? '',
        transactionLink(txid),
        String(vout),
      ]),
    ),
  ];
}
