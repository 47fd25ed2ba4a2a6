import { element, refill } from './element.ts';
import type { Rates } from './model/rates.ts';
import type { PageCondition } from './model/status.ts';
import type { PageWindow } from './model/window.ts';
import { bytes, count, counted, dateAndClock, duration, rate } from './model/words.ts';
import { moment } from './moment.ts';

const BACKEND_WORDS = {
  good: 'good',
  'not-admitted': 'not reached yet',
  'left-alone': 'failing; left alone for a while',
  unknown: 'unknown',
} as const;

/** Shows the active conditions in the order of the archive, the most severe first. */
export function showAlarms(list: HTMLElement, conditions: readonly PageCondition[]): void {
  refill(list, conditions, () =>
    conditions.length === 0
      ? [element('p', { class: 'quiet' }, 'Nothing to report.')]
      : [
          element(
            'ul',
            { class: 'alarms' },
            ...conditions.map(({ code, message, hint, since, severity, blocksReadiness }) =>
              element(
                'li',
                { class: severity === 'warning' ? 'notice' : 'bad' },
                element('p', {}, element('strong', {}, message)),
                element('p', {}, hint),
                element(
                  'p',
                  { class: 'quiet' },
                  element('code', {}, code),
                  ' since ',
                  moment(since),
                  blocksReadiness ? ' · the archive is not ready while it lasts' : '',
                ),
              ),
            ),
          ),
        ],
  );
}

/** Shows how many of the window's blobs each backend holds, and its queue. */
export function showBackends(body: HTMLTableSectionElement, { backends, status }: PageWindow): void {
  const names = new Set([...status.backends.map(({ id }) => id), ...backends.map(({ backend }) => backend)]);
  const rows = [...names].map((name) => {
    const tally = backends.find(({ backend }) => backend === name);
    const state = status.backends.find(({ id }) => id === name);
    return {
      name,
      counts: tally?.counts ?? true,
      state: state === undefined ? 'cache' : BACKEND_WORDS[state.state],
      isGood: state === undefined || state.state === 'good',
      good: tally?.good ?? 0,
      all: (tally?.good ?? 0) + (tally?.wanted ?? 0) + (tally?.damaged ?? 0),
      damaged: tally?.damaged ?? 0,
      queued: state?.queued ?? 0,
    };
  });
  refill(body, rows, () =>
    rows.map(({ name, counts, state, isGood, good, all, damaged, queued }) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, name, counts ? null : element('span', { class: 'quiet' }, ' (does not count)')),
        element('td', { class: isGood ? '' : 'bad' }, state),
        element('td', {}, `${count(good)} of ${count(all)} `, bar(good, all)),
        element('td', { class: damaged > 0 ? 'bad' : '' }, count(damaged)),
        element('td', {}, count(queued)),
      ),
    ),
  );
}

/** Returns null when `all` is 0: zero blobs have no share. */
function bar(good: number, all: number): HTMLElement | null {
  return all === 0 ? null : element('meter', { min: 0, max: all, value: good, 'aria-hidden': 'true' });
}

export function showRates(list: HTMLElement, rates: Rates): void {
  const watched = (value: number | null) => (value === null ? 'measuring …' : `${rate(value)} a minute`);
  const entries: [string, string][] = [
    ['Blobs a block', rate(rates.blobsPerBlock)],
    ['On chain', `${bytes(Math.round(rates.chainBytesPerHour))} an hour`],
    ['Archived', watched(rates.archivedPerMinute)],
    ['Calls to the node', watched(rates.nodeCallsPerMinute)],
  ];
  showEntries(list, entries);
}

export function showArchive(list: HTMLElement, { status }: PageWindow): void {
  const { content, chain, node, archiveRule, smallestSlackSeconds } = status;
  const height = (value: number | null) => (value === null ? 'none yet' : count(value));
  const entries: [string, string][] = [
    ['Stored', `${counted(content.stored, 'blob')}, ${bytes(content.storedBytes)}`],
    ['Durable, not on enough backends', count(content.spooled)],
    ['Not here yet', `${count(content.seen)}${content.failing > 0 ? `, ${count(content.failing)} failed before` : ''}`],
    ['Smallest slack', smallestSlackSeconds === null ? 'all are here' : duration(smallestSlackSeconds)],
    ['Lost, ever', count(chain.lost)],
    ...ruleEntries(archiveRule),
    ['Walked to block', `${height(chain.height)}${chain.lagBlocks ? `, ${count(chain.lagBlocks)} behind` : ''}`],
    ['Final to block', `${height(chain.finalHeight)} (${chain.finality})`],
    ['Node', `${node.name}, ${node.reachable ? `at block ${height(node.height)}` : 'does not answer'}`],
  ];
  showEntries(list, entries);
}

/** Shown where a rule is in force, or has left something out. */
function ruleEntries({ says, notArchived, since }: PageWindow['status']['archiveRule']): [string, string][] {
  const leftOut = since === null ? 'none' : `${count(notArchived)} since ${dateAndClock(since)}`;
  return [
    ...(says === null ? [] : [['Rule', says] satisfies [string, string]]),
    ...(says === null && notArchived === 0 ? [] : [['Not archived by rule', leftOut] satisfies [string, string]]),
  ];
}

function showEntries(list: HTMLElement, entries: readonly [string, string][]): void {
  refill(list, entries, () =>
    entries.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
  );
}
