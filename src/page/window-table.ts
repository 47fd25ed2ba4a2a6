import { element, refill } from './element.ts';
import { countStates, type MarkState, type PageWindow, secondsLeft } from './model/window.ts';
import { count, duration, SHOWN_STATES, STATE_WORDS } from './model/words.ts';

const COLUMNS: readonly MarkState[] = SHOWN_STATES;

/** Shows the numbers of the picture as a table, built only while it is open. */
export function showTable(details: HTMLDetailsElement, body: HTMLTableSectionElement, window: PageWindow): void {
  if (!details.open) return;
  const rows = window.blocks.toReversed().map((block) => {
    const counts = countStates([block]);
    const left = secondsLeft(window, block);
    return {
      height: count(block.height),
      final: block.isFinal ? 'yes' : 'no',
      left: left >= 0 ? duration(Math.floor(left / 60) * 60) : 'over',
      cells: [
        `${block.blobs.length}${block.hasMore ? '+' : ''}`,
        ...COLUMNS.map((state) => String(counts.get(state) ?? 0)),
      ],
    };
  });
  refill(body, rows, () =>
    rows.map(({ height, final, left, cells }) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, height),
        element('td', {}, final),
        element('td', {}, left),
        ...cells.map((cell) => element('td', cell === '0' ? { class: 'zero' } : {}, cell)),
      ),
    ),
  );
}

export function tableHead(): HTMLElement {
  const words = ['Block', 'Final', 'Time left', 'Blobs', ...COLUMNS.map((state) => STATE_WORDS[state])];
  return element('tr', {}, ...words.map((word) => element('th', { scope: 'col' }, word)));
}
