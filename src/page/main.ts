import { AccessToken } from './access-token.ts';
import { showBlock } from './block-panel.ts';
import { part } from './element.ts';
import { showAlarms, showArchive, showBackends, showRates } from './figures.ts';
import { Listing } from './listing.ts';
import { LookUpView } from './look-up-view.ts';
import { ArchiveApi } from './model/archive-api.ts';
import { Fields } from './model/fields.ts';
import { type LiveState, LiveWindow } from './model/live-window.ts';
import { RateMeter } from './model/rates.ts';
import { decodeConditions } from './model/status.ts';
import { judge, type Verdict } from './model/verdict.ts';
import type { PageBlock, PageWindow } from './model/window.ts';
import { clock, counted } from './model/words.ts';
import { showPeers } from './peers-view.ts';
import { legend, Picture } from './picture.ts';
import { offerThemes } from './theme.ts';
import { UrgentView } from './urgent-view.ts';
import { showTable, tableHead } from './window-table.ts';

/** Builds the page from its parts. */
/** Starts the page. */
function startPage(): void {
  const token = new AccessToken();
  const api = new ArchiveApi(
    '',
    () => token.value,
    (url, init) => fetch(url, init),
  );
  const rates = new RateMeter();
  const root = document.documentElement;
  const tableDetails = part('window-table', HTMLDetailsElement);
  let shown: PageWindow | null = null;
  let chosen: PageBlock | null = null;
  let countdown: ReturnType<typeof setInterval> | undefined;

  const picture = new Picture((block) => {
    chosen = block;
    if (shown !== null) showBlock(part('block', HTMLDivElement), shown, chosen);
  });
  const listing = new Listing(api);
  const urgent = new UrgentView(api);
  const live = new LiveWindow(api, () => token.value !== null, show, Date.now);
  const lookUpView = new LookUpView(api, () => askForToken(token.value !== null));

  function show(state: LiveState): void {
    clearInterval(countdown);
    root.dataset['live'] = state.kind;
    switch (state.kind) {
      case 'connecting':
        showVerdict({ tone: 'unknown', title: 'Connecting …', detail: '' });
        showConnection('connecting');
        return;
      case 'live':
        showLive(state.window);
        return;
      case 'lost':
        showLost(state);
        return;
      case 'needs-token':
        showVerdict({
          tone: 'unknown',
          title: 'This archive asks for a token',
          detail: 'Nothing is shown without one.',
        });
        showConnection('not connected');
        askForToken(state.wasRefused);
        return;
      case 'no-window':
        void showReader();
        return;
      default:
        state satisfies never;
    }
  }

  function showLive(window: PageWindow): void {
    const isFirst = shown === null;
    shown = window;
    part('token-form', HTMLFormElement).hidden = true;
    part('forget-token', HTMLButtonElement).hidden = token.value === null;
    part('emulated', HTMLSpanElement).hidden = !window.status.emulated;
    part('version', HTMLSpanElement).textContent = window.status.version;
    showConnection(`live, ${clock(window.at)}`);
    showVerdict(judge(window));
    urgent.show(window);
    picture.show(window);
    showTable(tableDetails, part('window-table-body', HTMLTableSectionElement), window);
    showAlarms(part('alarms', HTMLDivElement), window.status.conditions);
    showBackends(part('backends-body', HTMLTableSectionElement), window);
    showArchive(part('archive', HTMLDListElement), window);
    showPeers(window.status);
    showRates(part('rates', HTMLDListElement), rates.measure(window));
    if (isFirst) listing.start();
  }

  /** Dims the last window and shows when it was current. The verdict no longer says that anything is safe. */
  function showLost({ sinceMs, retryAtMs, why, last }: Extract<LiveState, { kind: 'lost' }>): void {
    const asOf =
      last === null ? 'The page has received no window yet.' : `The window below was current at ${clock(last.at)}.`;
    showVerdict({
      tone: 'unknown',
      title: `Connection lost since ${clock(sinceMs)}`,
      detail: `${asOf} The page cannot tell whether blobs are at risk. (${why})`,
    });
    const tell = () => {
      const seconds = Math.max(0, Math.ceil((retryAtMs - Date.now()) / 1_000));
      showConnection(`not connected, trying again in ${counted(seconds, 'second')}`);
    };
    tell();
    countdown = setInterval(tell, 1_000);
  }

  /** Shows a stateless reader: look-up, verification and the reader's conditions. */
  async function showReader(): Promise<void> {
    showVerdict({
      tone: 'unknown',
      title: 'This is a reader: it follows no chain, and has no window',
      detail: 'Look-up and verification work here. Ask the archiver for the window, records and the listing.',
    });
    showConnection('reader');
    for (const hidden of document.querySelectorAll<HTMLElement>('[data-needs-window]')) hidden.hidden = true;
    try {
      const status = Fields.of(await api.json('v1/status'), 'status');
      part('version', HTMLSpanElement).textContent = status.text('version');
      showAlarms(part('alarms', HTMLDivElement), decodeConditions(status));
    } catch (error) {
      part('alarms', HTMLDivElement).textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** Screen readers announce the verdict when its text changes, and only then. */
  function showVerdict({ tone, title, detail }: Verdict): void {
    const verdict = part('verdict', HTMLElement);
    verdict.dataset['tone'] = tone;
    setText(part('verdict-title', HTMLHeadingElement), title);
    setText(part('verdict-detail', HTMLParagraphElement), detail);
    document.title = `${{ good: '✓', notice: '!', bad: '✗', unknown: '?' }[tone]} ${title} · Holdfast`;
  }

  function showConnection(text: string): void {
    setText(part('connection', HTMLSpanElement), text);
  }

  function setText(target: Element, text: string): void {
    if (target.textContent !== text) target.textContent = text;
  }

  function askForToken(wasRefused: boolean): void {
    const form = part('token-form', HTMLFormElement);
    const wasHidden = form.hidden;
    form.hidden = false;
    part('token-message', HTMLParagraphElement).textContent = wasRefused
      ? 'The archive does not accept that token.'
      : '';
    if (wasHidden) part('token', HTMLInputElement).focus();
  }

  function takeToken(value: string | null): void {
    token.set(value);
    part('token', HTMLInputElement).value = '';
    live.start();
    lookUpView.lookAtAddress();
  }

  part('token-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    const value = part('token', HTMLInputElement).value.trim();
    // A token with characters that a header cannot carry would fail in `fetch`.
    if (/^[\x21-\x7e]+$/.test(value)) takeToken(value);
    else askForToken(true);
  });
  part('forget-token', HTMLButtonElement).addEventListener('click', () => {
    token.set(null);
    location.reload();
  });
  part('retry', HTMLButtonElement).addEventListener('click', () => live.start());
  tableDetails.addEventListener('toggle', () => {
    if (shown !== null) showTable(tableDetails, part('window-table-body', HTMLTableSectionElement), shown);
  });
  part('window-table-head', HTMLTableSectionElement).replaceChildren(tableHead());
  part('legend', HTMLUListElement).replaceChildren(...legend());
  offerThemes(part('theme', HTMLButtonElement));
  live.start();
  lookUpView.lookAtAddress();
}

startPage();
