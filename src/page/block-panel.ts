import { element, refill, svg } from './element.ts';
import { outline } from './model/picture-layout.ts';
import { type PageBlob, type PageBlock, type PageWindow, secondsLeft } from './model/window.ts';
import { bytes, count, counted, duration, STATE_WORDS, shortHash } from './model/words.ts';

/** Lists the blobs of the chosen block; each entry links to its look-up. */
export function showBlock(panel: HTMLElement, window: PageWindow, block: PageBlock | null): void {
  const left = block === null ? 0 : Math.floor(secondsLeft(window, block) / 60) * 60;
  refill(panel, [block, left, window.waiting], () => [
    ...(block === null
      ? [element('p', { class: 'quiet' }, 'Holdfast has followed no block yet.')]
      : [
          element(
            'h3',
            {},
            element('a', { href: `#/block/${block.height}`, 'data-key': 'block' }, `Block ${count(block.height)}`),
            ' ',
            element(
              'span',
              { class: `badge ${block.isFinal ? 'good' : ''}` },
              block.isFinal ? 'final' : 'not final yet',
            ),
            ' ',
            element('span', { class: 'badge' }, left >= 0 ? `${duration(left)} left` : 'past its deadline'),
          ),
          element('p', { class: 'hash quiet' }, block.hash),
          block.blobs.length === 0 ? element('p', { class: 'quiet' }, 'It carries no blobs.') : chips(block.blobs),
          block.hasMore ? element('p', {}, 'It carries more than are shown here.') : null,
        ]),
    window.waiting.blobs.length === 0
      ? null
      : element(
          'details',
          {},
          element(
            'summary',
            { 'data-key': 'waiting' },
            `${counted(window.waiting.blobs.length, 'blob')}${window.waiting.hasMore ? ' and more' : ''} waiting for a block`,
          ),
          chips(window.waiting.blobs),
        ),
  ]);
}

function chips(blobs: readonly PageBlob[]): HTMLElement {
  return element(
    'ul',
    { class: 'chips' },
    ...blobs.map((blob) => {
      const { versionHash, state, sizeBytes, copies } = blob;
      const size = sizeBytes === null ? 'size not known yet' : bytes(sizeBytes);
      const place = { state, x: 2, y: 2, width: 10, height: 10 };
      return element(
        'li',
        {},
        element(
          'a',
          { href: `#/${nameOf(blob)}`, 'data-key': `${blob.txid}-${versionHash}` },
          svg(
            'svg',
            { width: 14, height: 14, 'aria-hidden': 'true' },
            svg('path', { class: `mark ${state}`, d: outline(place) }),
          ),
          element('span', { class: 'hash' }, shortHash(versionHash)),
          element('span', { class: 'quiet' }, `${STATE_WORDS[state]} · ${size} · ${counted(copies, 'copy', 'copies')}`),
        ),
      );
    }),
  );
}

/** The version hash; 66 characters when the hash type is known and has that form. */
export function nameOf({ versionHash, hashType }: Pick<PageBlob, 'versionHash' | 'hashType'>): string {
  return hashType === 'blake2s256' ? `01${versionHash}` : versionHash;
}
