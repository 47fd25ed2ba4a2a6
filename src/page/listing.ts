import { nameOf } from './block-panel.ts';
import { element, part } from './element.ts';
import { type ArchiveApi, Refused } from './model/archive-api.ts';
import { Fields } from './model/fields.ts';
import { type BlobRecord, decodeRecord, expectedReplicas } from './model/record.ts';
import { bytes, dateAndClock, shortHash } from './model/words.ts';
import { moment } from './moment.ts';

const PAGE = 20;

/** Pages through all blobs. The cursors come from the archive and stay valid while new blobs arrive. */
export class Listing {
  readonly #body = part('listing-body', HTMLTableSectionElement);
  readonly #message = part('listing-message', HTMLParagraphElement);
  readonly #order = part('order', HTMLSelectElement);
  readonly #newer = part('page-back', HTMLButtonElement);
  readonly #older = part('page-on', HTMLButtonElement);
  readonly #api: ArchiveApi;
  /** Cursors of the pages up to the current one. The first page has none. */
  #way: (string | null)[] = [null];
  #next: string | null = null;
  #running: AbortController | null = null;

  constructor(api: ArchiveApi) {
    this.#api = api;
    this.#order.addEventListener('change', () => this.start());
    part('listing-refresh', HTMLButtonElement).addEventListener('click', () => this.start());
    this.#older.addEventListener('click', () => {
      if (this.#next !== null) this.#go([...this.#way, this.#next]);
    });
    this.#newer.addEventListener('click', () => {
      if (this.#way.length > 1) this.#go(this.#way.slice(0, -1));
    });
  }

  /** Shows the first page. */
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
        records.length === 0
          ? 'The archive holds no blob yet.'
          : `Page ${way.length}, as of ${dateAndClock(Date.now())}.`;
    } catch (error) {
      if (signal.aborted) return;
      // The rows of the last answer stay; their caption says when they were fetched.
      const says = error instanceof Error ? error.message : String(error);
      message.textContent = error instanceof Refused ? `${says} ${error.hint}` : `The archive does not answer: ${says}`;
    }
    // The button keeps the focus and announces that it is disabled, which a disabled attribute would not allow.
    newer.setAttribute('aria-disabled', String(this.#way.length === 1));
    older.setAttribute('aria-disabled', String(this.#next === null));
  }
}

function row(record: BlobRecord): HTMLElement {
  const replicas = expectedReplicas(record);
  const good = replicas.filter(({ state }) => state === 'good').length;
  const [first] = record.occurrences;
  return element(
    'tr',
    {},
    element('td', {}, element('a', { class: 'hash', href: `#/${nameOf(record)}` }, shortHash(record.versionHash))),
    element('td', {}, record.hashType ?? ''),
    element('td', { class: 'right' }, bytes(record.sizeBytes)),
    element('td', {}, record.state === 'seen' ? 'not here yet' : record.state),
    element('td', {}, first?.state ?? ''),
    element('td', { class: 'right' }, `${good} of ${replicas.length}`),
    element('td', {}, moment(record.seenAt)),
  );
}
