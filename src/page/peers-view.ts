import { element, part, refill } from './element.ts';
import type { PageAttested, PagePeer } from './model/peers.ts';
import type { PageStatus } from './model/status.ts';
import { count, counted, dateAndClock } from './model/words.ts';

const STATE_WORDS: Readonly<Record<PagePeer['state'], string>> = {
  good: 'answers',
  silent: 'does not answer',
  'left-alone': 'left alone after wrong bytes',
  'not-asked': 'not asked yet',
  unknown: 'unknown',
};

/** Shows what came of comparing the archive with its peers, and what the archive itself states. */
export function showPeers({ peers, attested }: PageStatus): void {
  refill(part('peers-body', HTMLTableSectionElement), peers, () => peers.map(row));
  part('peers-table', HTMLElement).hidden = peers.length === 0;
  part('no-peers', HTMLParagraphElement).hidden = peers.length > 0;
  part('attested-note', HTMLParagraphElement).hidden = attested === null;
  refill(part('attested', HTMLDListElement), attested, () =>
    entriesOf(attested).map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
  );
}

function row({ name, state, leftAloneUntil, gave, wrongBytes, compared, audited }: PagePeer): HTMLElement {
  const until = leftAloneUntil === null ? '' : ` until ${dateAndClock(leftAloneUntil)}`;
  const lies = wrongBytes === 0 ? '' : `, ${count(wrongBytes)} times wrong bytes`;
  const isWell = state === 'good' || state === 'not-asked';
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, name),
    element('td', { class: isWell ? '' : 'bad' }, `${STATE_WORDS[state]}${until}`),
    element('td', {}, compared === null ? 'none yet' : dateAndClock(compared.at)),
    element('td', { class: hasLied(compared) ? 'bad wrap' : 'wrap' }, differences(compared)),
    element('td', { class: (audited?.failed ?? 0) > 0 ? 'bad' : '' }, draws(audited)),
    element('td', { class: wrongBytes > 0 ? 'bad' : '' }, `${counted(gave, 'blob')}${lies}`),
  );
}

function hasLied(compared: PagePeer['compared']): boolean {
  return compared !== null && (compared.contradiction !== null || compared.notGiven > 0);
}

function differences(compared: PagePeer['compared']): string {
  if (compared === null) return '';
  const { extent, onlyThere, onlyHere, fetched, notGiven, contradiction } = compared;
  if (contradiction !== null) return `It contradicts the chain. ${contradiction}`;
  if (extent === 'none') return 'not comparable: the archives share no block';
  const atLeast = extent === 'partial' ? 'ended early, at least ' : '';
  const withheld = notGiven === 0 ? '' : `, ${count(notGiven)} promised and not given`;
  if (onlyThere === 0 && onlyHere === 0) return extent === 'partial' ? 'ended early, none so far' : 'none';
  return `${atLeast}${count(onlyThere)} only there (${count(fetched)} fetched${withheld}), ${count(onlyHere)} only here`;
}

function draws(audited: PagePeer['audited']): string {
  if (audited === null) return 'none yet';
  const { samples, good, failed } = audited;
  return `${count(good)} of ${count(samples)} good${failed === 0 ? '' : `, ${count(failed)} failed`}`;
}

function entriesOf(attested: PageAttested | null): [string, string | HTMLElement][] {
  if (attested === null) return [['Statement', 'none has been signed yet']];
  const { at, number, from, to, counts, root, key } = attested;
  const others = [
    ...(['missing', 'lost', 'withheld', 'custom'] as const).map((kind) => `${count(counts[kind])} ${kind}`),
    `${count(counts['not-archived-by-rule'])} not archived by rule`,
  ];
  return [
    ['Signed', `${dateAndClock(at)}, number ${count(number)}`],
    ['Blocks', `${count(from)} to ${count(to)}, all of them final`],
    ['Holds', `${count(counts.stored)} stored, ${others.join(', ')}`],
    ['Root of the inventory', element('code', { class: 'hash' }, root)],
    ['Key', element('code', { class: 'hash' }, key)],
  ];
}
