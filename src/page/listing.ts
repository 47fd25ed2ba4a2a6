import { nameOf } from './block-panel.ts';
import { element, part } from './element.ts';
import { type ArchiveApi, Refused } from './model/archive-api.ts';
import { Fields } from './model/fields.ts';
import { type BlobRecord, decodeRecord } from './model/record.ts';
import { bytes, dateAndClock, shortHash } from './model/words.ts';

const PAGE = 20;

/** All blobs, page by page; the cursors are the archive's, and hold whatever arrives meanwhile. */
export class Listing {
  readonly #body = part('listing-body', HTMLTableSectionElement);
  readonly #message = part('listing-message', HTMLParagraphElement);
  readonly #order = part('order', HTMLSelectElement);
  readonly #newer = part('page-back', HTMLButtonElement);
  readonly #older = part('page-on', HTMLButtonElement);
  readonly #api: ArchiveApi;
  /** Cursors of the pages up to this one; the first has none. */
  #way: (string | null)[] = [null];
  #next: string | null = null;
  #running: AbortController | null = null;

  constructor(api: ArchiveApi) {
    this.#api = api;
    this.#order.addEventListener('change', () => this.start());
    part('listing-anew', HTMLButtonElement).addEventListener('click', () => this.start());
    this.#older.addEventListener('click', () => {
      if (this.#next !== null) this.#go([...this.#way, this.#next]);
    });
    this.#newer.addEventListener('click', () => {
      if (this.#way.length > 1) this.#go(this.#way.slice(0, -1));
    });
  }

  /** From the first page. */
  start(): void {
    this.#go([null]);
  }

  #go(way: (string | null)[]): void {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    void this.#load(way, running.signal);
  }

  async #load(way: (string | null)[], signal: AbortSignal): Promise<void> {
    const [body, message, order, newer, older] = [this.#body, this.#message, this.#order, this.#newer, this.#older];
    const query = new URLSearchParams({ limit: String(PAGE), order: order.value });
    const cursor = way.at(-1) ?? null;
    if (cursor !== null) query.set('after', cursor);
    try {
      const page = Fields.of(await this.#api.json(`v1/blobs?${query}`, { signal }), 'listing');
      const records = page.list('blobs', (value) => decodeRecord(value, null));
      this.#way = way;
      this.#next = page.textOrNull('next');
      body.replaceChildren(...records.map(row));
      message.textContent =
        records.length === 0 ? 'There is nothing yet.' : `Page ${way.length}, as of ${dateAndClock(Date.now())}.`;
    } catch (error) {
      if (signal.aborted) return;
      // What stands there is left: it says itself as of when it is.
      const says = error instanceof Error ? error.message : String(error);
      message.textContent = error instanceof Refused ? `${says} ${error.hint}` : `The archive does not answer: ${says}`;
    }
    // A button that the focus is on stays where it is, and says that it does nothing now.
    newer.setAttribute('aria-disabled', String(this.#way.length === 1));
    older.setAttribute('aria-disabled', String(this.#next === null));
  }
}

function row(record: BlobRecord): HTMLElement {
  const good = record.replicas.filter(({ state }) => state === 'good').length;
  const [first] = record.occurrences;
  return element(
    'tr',
    {},
    element('td', {}, element('a', { class: 'hash', href: `#/${nameOf(record)}` }, shortHash(record.versionHash))),
    element('td', {}, record.hashType ?? ''),
    element('td', { class: 'right' }, bytes(record.sizeBytes)),
    element('td', {}, record.state === 'seen' ? 'not here yet' : record.state),
    element('td', {}, first?.state ?? ''),
    element('td', { class: 'right' }, `${good} of ${record.replicas.length}`),
    element('td', {}, dateAndClock(record.seenAt)),
  );
}
