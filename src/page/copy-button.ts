import { element } from './element.ts';

/**
 * A text with a button that copies it. Browsers let a page copy over https and on localhost only: elsewhere there is no
 * button.
 */
export function copyable(what: string, text: string): HTMLElement {
  const shown = element('span', { class: 'hash' }, text);
  const { clipboard }: { readonly clipboard?: Clipboard } = navigator;
  if (clipboard === undefined) return shown;
  const button = element('button', { type: 'button', class: 'copy' });
  const say = (word: string) => {
    button.textContent = word;
    button.setAttribute('aria-label', `${word} ${what}`);
  };
  say('Copy');
  button.addEventListener('click', () => {
    clipboard.writeText(text).then(
      () => say('Copied'),
      () => say('Not copied:'),
    );
  });
  // The outcome stays until the reader goes on.
  button.addEventListener('blur', () => say('Copy'));
  return element('span', { class: 'copyable' }, shown, ' ', button);
}
