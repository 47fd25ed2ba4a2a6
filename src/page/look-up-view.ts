import type { ProofLevel } from '../verify/index.ts';
import { chainBlock } from './chain-block-view.ts';
import { copyable } from './copy-button.ts';
import { blockLink, entryList, table, transactionLink } from './details.ts';
import { element, part } from './element.ts';
import { type ArchiveApi, Refused } from './model/archive-api.ts';
import { type CheckedBlob, checkBlob, type Outcome } from './model/check-blob.ts';
import { type Found, lookUpAny, pathOf } from './model/look-up.ts';
import { previewOf } from './model/preview.ts';
import type { BlobRecord } from './model/record.ts';
import { bytes, count, counted } from './model/words.ts';
import { moment } from './moment.ts';

const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  verified: 'Verified in this browser',
  'not-verified': 'NOT verified',
  pending: 'Cannot be verified yet',
};
const OUTCOME_TONES: Readonly<Record<Outcome, string>> = { verified: 'good', 'not-verified': 'bad', pending: 'notice' };
const OUTCOME_SIGNS: Readonly<Record<Outcome, string>> = { verified: '✓', 'not-verified': '✗', pending: '…' };

/** Words for each proof level. */
const LEVEL_WORDS: Readonly<Record<ProofLevel, string>> = {
  inclusion: 'bytes and inclusion',
  work: 'bytes, inclusion and work',
  chain: 'bytes, inclusion, work and chain',
};

/**
 * Looks up a blob by version hash or transaction id, shows the archive's record, and verifies it; or a block by height or
 * hash.
 */
export class LookUpView {
  readonly #form = part('look-up-form', HTMLFormElement);
  readonly #input = part('look-up-input', HTMLInputElement);
  readonly #message = part('look-up-message', HTMLParagraphElement);
  readonly #result = part('look-up-result', HTMLDivElement);
  readonly #api: ArchiveApi;
  readonly #refused: (refused: Refused) => void;
  #running: AbortController | null = null;

  /** Calls `refused` with each 401 answer. */
  constructor(api: ArchiveApi, refused: (refused: Refused) => void) {
    this.#api = api;
    this.#refused = refused;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.#input.value.trim();
      // The page's address contains the text, so that a person can share it. The same text again repeats the look-up.
      if (location.hash === `#/${text}`) void this.look(text);
      else location.hash = `#/${text}`;
    });
    window.addEventListener('hashchange', () => this.lookAtAddress());
  }

  /** Looks up the text in the page's address. */
  lookAtAddress(): void {
    const text = /^#\/(.+)$/.exec(location.hash)?.[1];
    if (text === undefined) return;
    this.#input.value = text;
    this.#form.scrollIntoView({ block: 'start' });
    void this.look(text);
  }

  async look(text: string): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.#say('Looking …', '');
    this.#result.replaceChildren();
    this.#input.setAttribute('aria-invalid', 'false');
    try {
      const lookedUp = await lookUpAny(text, this.#api, running.signal);
      if (running.signal.aborted) return;
      if (lookedUp.kind === 'block') {
        this.#result.replaceChildren(...chainBlock(lookedUp.block));
        this.#say('', '');
        return;
      }
      const { found } = lookedUp;
      this.#show(found, null);
      this.#say('Fetching and checking …', '');
      const checked = await checkBlob(found, this.#api, running.signal);
      if (running.signal.aborted) return;
      this.#show(found, checked);
      this.#say(headlineOf(checked), OUTCOME_TONES[checked.outcome]);
    } catch (error) {
      if (running.signal.aborted) return;
      this.#fail(error);
    }
  }

  #say(text: string, tone: string): void {
    this.#message.textContent = text;
    this.#message.className = `message ${tone}`;
  }

  #fail(error: unknown): void {
    if (error instanceof Refused) {
      // The hint of a 503 tells programs to retry; a person reads the message only.
      const isPassing = error.status === 503;
      this.#say(isPassing ? error.message : `${error.message} ${error.hint}`, isPassing ? 'notice' : 'bad');
      if (error.status === 401) this.#refused(error);
      return;
    }
    const isMalformed = error instanceof Error && 'code' in error;
    this.#input.setAttribute('aria-invalid', String(isMalformed));
    const says = error instanceof Error ? error.message : String(error);
    this.#say(error instanceof TypeError ? `The archive does not answer: ${says}` : says, 'bad');
  }

  #show(found: Found, checked: CheckedBlob | null): void {
    this.#result.replaceChildren(
      ...(found.txid === null
        ? []
        : [element('h3', {}, 'The blob of the transaction'), copyable('transaction id', found.txid)]),
      ...(checked === null ? [] : [verdictOf(checked), this.#download(found, checked), ...previewShown(checked)]),
      ...(found.record === null ? [noRecord()] : recordOf(found.record)),
    );
  }

  /** Offers verified bytes alone. */
  #download({ name }: Found, { bytes: verified }: CheckedBlob): HTMLElement {
    if (verified === null) return element('p', { class: 'quiet' }, 'There are no verified bytes to download.');
    const button = element('button', { type: 'button' }, `Download the ${bytes(verified.length)}`);
    button.addEventListener('click', () => {
      const url = URL.createObjectURL(new Blob([verified], { type: 'application/octet-stream' }));
      element('a', { href: url, download: `${pathOf(name)}.bin` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    });
    return element('p', {}, button);
  }
}

/** Shows the start of verified bytes, and none of other bytes. */
function previewShown({ bytes: verified }: CheckedBlob): HTMLElement[] {
  if (verified === null) return [];
  const { entropyBits, hex, text, isCut } = previewOf(verified);
  const shown = (caption: string, content: string) => [
    element('h4', {}, caption),
    element('pre', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, content),
  ];
  return [
    element(
      'details',
      { id: 'preview' },
      element('summary', {}, 'Preview of the bytes'),
      element(
        'p',
        { class: 'quiet' },
        `${sizeOf(verified.length)}, entropy ${entropyBits.toFixed(2)} of 8 bits a byte.`,
      ),
      ...shown(isCut ? 'Hex of the first 256 bytes' : 'Hex', hex),
      ...(text === null
        ? [element('p', { class: 'quiet' }, 'The bytes are not text.')]
        : shown('Text from the start', text)),
    ),
  ];
}

function headlineOf({ outcome, level }: CheckedBlob): string {
  return level === null ? OUTCOME_WORDS[outcome] : `${OUTCOME_WORDS[outcome]}: ${LEVEL_WORDS[level]}`;
}

function verdictOf(checked: CheckedBlob): HTMLElement {
  const { outcome, steps } = checked;
  return element(
    'div',
    { class: `check ${OUTCOME_TONES[outcome]}`, 'data-outcome': outcome },
    element('h3', {}, headlineOf(checked)),
    element(
      'ul',
      {},
      ...steps.map((step) =>
        element(
          'li',
          { 'data-outcome': step.outcome },
          element('span', { class: 'sign', 'aria-hidden': 'true' }, OUTCOME_SIGNS[step.outcome]),
          element('strong', {}, `${step.title}: ${OUTCOME_WORDS[step.outcome].toLowerCase()}. `),
          step.says,
        ),
      ),
    ),
  );
}

function noRecord(): HTMLElement {
  const says =
    'This reader has no catalog: it keeps no records and knows no transactions. An archiver shows states and replicas, and looks up transactions.';
  return element('p', { class: 'quiet' }, says);
}

function recordOf(record: BlobRecord): HTMLElement[] {
  const since = (time: string | null) => (time === null ? 'not yet' : moment(time));
  const { publicReason, rule, lastFailure } = record;
  return [
    element('h3', {}, 'What the archive says'),
    entryList([
      ['Version hash', copyable('version hash', record.versionHash)],
      ['Hash type', record.hashType ?? 'not known yet'],
      ['State', record.state === 'seen' ? 'not here yet' : record.state],
      ...(publicReason === null ? [] : [['Withheld because', publicReason] as const]),
      ...(rule === null ? [] : [['Not archived because', rule] as const]),
      ['Size', sizeOf(record.sizeBytes)],
      ['First seen', moment(record.seenAt)],
      ['Durable since', since(record.spooledAt)],
      ['Stored since', since(record.storedAt)],
      ...(lastFailure === null ? [] : [['Last failure', lastFailure] as const]),
    ]),
    table(
      'Replicas of this blob',
      ['Backend', 'State', 'Last read back', 'Last failure'],
      record.replicas.map(({ backend, state, verifiedAt, lastFailure }) => [
        backend,
        state,
        verifiedAt === null ? 'never' : moment(verifiedAt),
        lastFailure ?? '',
      ]),
    ),
    table(
      record.hasMoreOccurrences ? 'Occurrences of this blob (the first sixteen)' : 'Occurrences of this blob',
      ['State', 'Block', 'Transaction', 'Output'],
      record.occurrences.map(({ state, height, txid, vout }) => [
        state,
        height === null ? 'none yet' : blockLink(height, count(height)),
        transactionLink(txid),
        vout === null ? '' : String(vout),
      ]),
    ),
  ];
}

function sizeOf(size: number): string {
  const inBytes = counted(size, 'byte');
  return bytes(size) === inBytes ? inBytes : `${bytes(size)} (${inBytes})`;
}
