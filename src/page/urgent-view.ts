import { nameOf } from './block-panel.ts';
import { blockLink } from './details.ts';
import { element, part, refill } from './element.ts';
import type { ArchiveApi } from './model/archive-api.ts';
import { decodeRecord } from './model/record.ts';
import { byUrgency, type UrgentBlob, whatKeeps } from './model/urgent.ts';
import type { PageWindow } from './model/window.ts';
import { count, counted, duration, STATE_WORDS, shortHash } from './model/words.ts';

/** Blobs that are named. The picture and the table show all of them. */
const MAX_BLOBS = 5;
/** A reason is asked for again after this, because the next attempt may have failed in another way. */
const FRESH_MS = 15_000;

interface Reason {
  readonly says: string;
  readonly askedMs: number;
}

/** Lists the most urgent blobs, each with what keeps it from being stored. */
export class UrgentView {
  readonly #api: ArchiveApi;
  readonly #section = part('urgent', HTMLElement);
  readonly #body = part('urgent-body', HTMLTableSectionElement);
  readonly #more = part('urgent-more', HTMLParagraphElement);
  /** Keyed by state and name of the listed blobs. */
  #reasons: ReadonlyMap<string, Reason> = new Map();
  #shown: readonly UrgentBlob[] = [];
  #isAsking = false;

  constructor(api: ArchiveApi) {
    this.#api = api;
  }

  show(window: PageWindow): void {
    const all = byUrgency(window);
    this.#shown = all.slice(0, MAX_BLOBS);
    this.#section.hidden = all.length === 0;
    const hidden = all.length - this.#shown.length;
    this.#more.textContent = hidden === 0 ? '' : `${counted(hidden, 'more blob is', 'more blobs are')} not stored yet.`;
    const keys = new Set(this.#shown.map(keyOf));
    this.#reasons = new Map([...this.#reasons].filter(([key]) => keys.has(key)));
    this.#draw();
    if (!this.#isAsking) void this.#ask();
  }

  /** Asks for the reasons that are missing or old, one after the other. */
  async #ask(): Promise<void> {
    this.#isAsking = true;
    for (const urgent of this.#shown) {
      const key = keyOf(urgent);
      const known = this.#reasons.get(key);
      if (known !== undefined && performance.now() - known.askedMs < FRESH_MS) continue;
      const says = await this.#reasonOf(urgent);
      this.#reasons = new Map([...this.#reasons, [key, { says, askedMs: performance.now() }]]);
      this.#draw();
    }
    this.#isAsking = false;
  }

  async #reasonOf({ blob }: UrgentBlob): Promise<string> {
    try {
      return whatKeeps(decodeRecord(await this.#api.json(`v1/blobs/${nameOf(blob)}/record`), null));
    } catch (error) {
      return `The archive does not say why: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  #draw(): void {
    const rows = this.#shown.map((urgent) => ({
      key: keyOf(urgent),
      name: nameOf(urgent.blob),
      state: urgent.blob.state,
      height: urgent.block.height,
      left: urgent.secondsLeft >= 0 ? duration(Math.floor(urgent.secondsLeft / 60) * 60) : 'over',
      says: this.#reasons.get(keyOf(urgent))?.says ?? 'Asking the archive …',
    }));
    refill(this.#body, rows, () =>
      rows.map(({ key, name, state, height, left, says }) =>
        element(
          'tr',
          {},
          element(
            'th',
            { scope: 'row' },
            element('a', { class: 'hash', href: `#/${name}`, 'data-key': key }, shortHash(name)),
          ),
          element('td', { class: state === 'at-risk' ? 'bad' : '' }, STATE_WORDS[state]),
          element('td', {}, blockLink(height, count(height))),
          element('td', {}, left),
          element('td', { class: 'wrap' }, says),
        ),
      ),
    );
  }
}

function keyOf({ blob, block }: UrgentBlob): string {
  return `${blob.state} ${block.height} ${blob.txid} ${blob.versionHash}`;
}
