type Attributes = Readonly<Record<string, string | number | null>>;
type Child = Node | string | null;

const SVG = 'http://www.w3.org/2000/svg';

/** Builds an element. Every string becomes a text node, so data cannot inject markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(made: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Returns the element of index.html with this id. */
export function part<E extends Element>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new TypeError(`index.html has no ${kind.name} #${id}`);
}

const shown = new WeakMap<Element, string>();

/**
 * Rebuilds the children of an element when `essence` has changed, and keeps the focus on the same `data-key`.
 * @param essence a JSON value that determines what `build` returns
 */
export function refill(target: Element, essence: unknown, build: () => Child[]): void {
  const text = JSON.stringify(essence);
  if (shown.get(target) === text) return;
  shown.set(target, text);
  const focused = target.contains(document.activeElement) ? document.activeElement?.getAttribute('data-key') : null;
  target.replaceChildren(...build().filter((child) => child !== null));
  if (focused === null || focused === undefined) return;
  const again = target.querySelector(`[data-key="${CSS.escape(focused)}"]`);
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}
