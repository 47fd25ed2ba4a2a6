import { element } from './element.ts';

type Cell = Node | string;

/** A table with a caption, which scrolls by itself where it is too wide. */
export function table(caption: string, heads: readonly string[], rows: readonly (readonly Cell[])[]): HTMLElement {
  if (rows.length === 0) return element('p', { class: 'quiet' }, `${caption}: none.`);
  return element(
    'section',
    { class: 'scroll', tabindex: 0, 'aria-label': caption },
    element(
      'table',
      {},
      element('caption', {}, caption),
      element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map((cell) => element('td', {}, cell))))),
    ),
  );
}

/** A list of names and values. */
export function entryList(entries: readonly (readonly [name: string, value: Cell])[]): HTMLElement {
  return element(
    'dl',
    { class: 'entries' },
    ...entries.map(([name, value]) =>
      element('div', {}, element('dt', {}, name), element('dd', { class: 'hash' }, value)),
    ),
  );
}

export function blockLink(at: number | string, text: string): HTMLElement {
  return element('a', { href: `#/block/${at}` }, text);
}

export function transactionLink(txid: string): HTMLElement {
  return element('a', { class: 'hash', href: `#/tx/${txid}` }, txid);
}
