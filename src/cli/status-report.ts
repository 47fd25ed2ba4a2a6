import { z } from 'zod';
import { describeBytes, describeCount, describeSeconds } from './describe.ts';
import { textTable } from './text-table.ts';

const count = z.number();
/** Members of `/v1/status` that the commands read; `--json` prints all of it. */
export const statusReport = z.looseObject({
  version: z.string(),
  emulated: z.boolean(),
  node: z.looseObject({ name: z.string(), reachable: z.boolean(), height: count.nullable() }),
  chain: z.looseObject({
    height: count.nullable(),
    lagBlocks: count.nullable(),
    finality: z.string(),
    finalHeight: count.nullable(),
    lost: count,
    outage: z
      .looseObject({
        from: count,
        to: count,
        endedAt: z.string().nullable(),
        outcome: z.record(z.string(), count).nullable(),
      })
      .nullable(),
  }),
  content: z.looseObject({
    seen: count,
    spooled: count,
    stored: count,
    storedBytes: count,
    failing: count,
    atRisk: count.nullable(),
  }),
  local: z.looseObject({ mode: z.string(), bytes: count, budgetBytes: count.nullable(), freeBytes: count.nullable() }),
  backends: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string(),
      queued: count,
      oldestQueuedSeconds: count.nullable(),
      damaged: count,
      freeBytes: count.nullable().default(null),
      rule: z.string().nullable().default(null),
    }),
  ),
  peers: z.array(
    z.looseObject({
      name: z.string(),
      state: z.string(),
      leftAloneUntil: z.string().nullable().default(null),
      gave: count,
      gaveBytes: count,
      wrongBytes: count,
      compared: z
        .looseObject({ extent: z.string().default('whole'), onlyHere: count, onlyThere: count })
        .nullable()
        .default(null),
      audited: z
        .looseObject({ samples: count, outcomes: z.looseObject({ good: count }) })
        .nullable()
        .default(null),
    }),
  ),
  withheld: z.looseObject({ count }),
  archiveRule: z
    .looseObject({ says: z.string().nullable(), notArchived: count, since: z.string().nullable() })
    .default({ says: null, notArchived: 0, since: null }),
  smallestSlackSeconds: count.nullable(),
  /** The most severe first. */
  conditions: z.array(
    z.looseObject({
      code: z.string(),
      severity: z.string(),
      message: z.string(),
      hint: z.string(),
      blocksReadiness: z.boolean(),
    }),
  ),
});
export type StatusReport = z.output<typeof statusReport>;

const job = z.looseObject({
  kind: z.string(),
  state: z.string(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  outcome: z.looseObject({ exitCode: count }).nullable(),
  failure: z.looseObject({ message: z.string() }).nullable(),
});
/** Members of `/admin/jobs` that the commands read, the newest job last. */
export const jobReport = z.looseObject({ jobs: z.array(job) });
type Jobs = z.output<typeof jobReport>['jobs'];

export interface StatusScreen {
  readonly address: string;
  /** null: the daemon shows its jobs only to operators. */
  readonly jobs: Jobs | null;
  readonly nowMs: number;
}

/** `danger`: blobs or claims are at risk, or blobs are lost. `unknown`: the archive cannot rule that out. */
export type Standing = 'danger' | 'unknown' | 'safe';

interface Verdict {
  readonly standing: Standing;
  readonly sentence: string;
}

/** A walk that is further behind knows nothing of what is on chain. */
const MAX_LAG_BLOCKS = 2;
const STATES: Readonly<Record<string, string>> = {
  good: 'in use',
  'not-admitted': 'NOT IN USE: not let in',
  'left-alone': 'NOT IN USE: it failed',
};
const PEER_STATES: Readonly<Record<string, string>> = {
  good: 'answers',
  silent: 'DOES NOT ANSWER',
  'left-alone': 'LEFT ALONE',
  'not-asked': 'not asked yet',
};

/** Status of a running archive on one screen, beginning with the risks. */
export function showStatusReport(report: StatusReport, { address, jobs, nowMs }: StatusScreen): string[] {
  const { node, chain, content, withheld, smallestSlackSeconds: slack } = report;
  const isOverdue = report.conditions.some(({ code }) => code === 'chain/overdue');
  const nodeHeight = node.height === null ? '' : `, height ${node.height}`;
  const lines = [
    judge(report).sentence,
    `holdfast ${report.version} at ${address}`,
    `chain    ${report.emulated ? 'emulated (nothing of it is real)' : 'the one that the node follows'}`,
    `node     ${node.name}, ${node.reachable ? 'reachable' : 'NOT REACHABLE'}${nodeHeight}`,
    `walked   ${chain.height === null ? 'nothing yet' : `to height ${chain.height}`}${lag(chain.lagBlocks)}`,
    `final    ${chain.finalHeight === null ? 'nothing yet' : `to height ${chain.finalHeight}`} (${chain.finality})`,
    `stored   ${content.stored} blobs, ${describeBytes(content.storedBytes)}`,
    `spooled  ${content.spooled} (durable here, not read back from enough backends yet)`,
    `seen     ${content.seen} (not here yet; ${content.failing} failed at least once)`,
    `at risk  ${content.atRisk === null ? 'cannot tell: the node has not named its tip' : content.atRisk}${isOverdue ? ', and others past their deadline' : ''}`,
    `slack    ${slack === null ? 'nothing is waiting' : `${describeSeconds(slack)} until the node may prune the next blob that is not here`}`,
    `disk     ${diskLine(report.local)}`,
    `lost     ${chain.lost}`,
    `withheld ${withheld.count}`,
    ...ruleLines(report.archiveRule),
  ];
  const { outage } = chain;
  if (outage !== null && outage.endedAt !== null) {
    const outcome = Object.entries(outage.outcome ?? {}).map(([kind, many]) => `${many} ${kind}`);
    lines.push(`gap      heights ${outage.from} to ${outage.to}, closed ${outage.endedAt}: ${outcome.join(', ')}`);
  }
  for (const table of [backendTable(report), peerTable(report), jobTable(jobs, nowMs)]) {
    if (table.length > 0) lines.push('', ...table);
  }
  if (report.conditions.length > 0) lines.push('');
  for (const { code, severity, message, hint } of report.conditions) {
    lines.push(`! ${severity}: ${message} (${code})`, `  ${hint}`);
  }
  return lines;
}

/** Shown where a rule is in force, or has left something out. */
function ruleLines({ says, notArchived, since }: StatusReport['archiveRule']): string[] {
  if (says === null && notArchived === 0) return [];
  const leftOut = `${describeCount(notArchived, 'blob', 'blobs')} not archived`;
  return [`by rule  ${leftOut}${since === null ? '' : ` since ${since}`}. ${says ?? 'No rule is in force now.'}`];
}

function backendTable({ backends }: StatusReport): string[] {
  const rows = backends.map(({ id, state, queued, oldestQueuedSeconds: oldest, damaged, freeBytes }) => [
    id,
    STATES[state] ?? state,
    String(queued),
    oldest === null ? '-' : describeSeconds(oldest),
    String(damaged),
    freeBytes === null ? 'not known' : describeBytes(freeBytes),
  ]);
  const rules = backends.flatMap(({ id, rule }) => (rule === null ? [] : [`${id}: ${rule}`]));
  return [...textTable(['backend', 'state', '>queued', '>oldest', '>missing or damaged', '>free'], rows), ...rules];
}

function diskLine({ mode, bytes, budgetBytes, freeBytes }: StatusReport['local']): string {
  const free = freeBytes === null ? 'cannot tell how much is free' : `${describeBytes(freeBytes)} free`;
  const budget = budgetBytes === null ? '' : ` of at most ${describeBytes(budgetBytes)}`;
  return `${free}; the data folder ${mode === 'cache' ? 'caches' : 'keeps'} ${describeBytes(bytes)}${mode === 'cache' ? budget : ''}`;
}

function peerTable({ peers }: StatusReport): string[] {
  const rows = peers.map(({ name, state, leftAloneUntil, gave, gaveBytes, wrongBytes, compared, audited }) => [
    name,
    `${PEER_STATES[state] ?? state}${leftAloneUntil === null ? '' : ` until ${leftAloneUntil}`}`,
    `${gave} (${describeBytes(gaveBytes)})`,
    wrongBytes === 0 ? '-' : `${wrongBytes} WRONG`,
    audited === null ? '-' : `${audited.outcomes.good} of ${audited.samples}`,
    compared === null ? '-' : comparedWords(compared),
  ]);
  return textTable(['peer', 'state', '>gave', '>wrong bytes', '>samples good', 'compared'], rows);
}

function comparedWords({ extent, onlyThere, onlyHere }: NonNullable<StatusReport['peers'][number]['compared']>) {
  if (extent === 'none') return 'NOT COMPARABLE: no block in common';
  const found = `${onlyThere} only there, ${onlyHere} only here`;
  return extent === 'partial' ? `ENDED EARLY: at least ${found}` : found;
}

/** Shows the newest job of each kind, which is the running one if any runs. */
function jobTable(jobs: Jobs | null, nowMs: number): string[] {
  if (jobs === null) return ['jobs     not shown: they take the local socket, or a token of an operator'];
  const newest = [...new Map(jobs.map((one) => [one.kind, one])).values()];
  if (newest.length === 0) return ['jobs     none since the start'];
  const ago = (since: string) => describeSeconds(Math.max(0, (nowMs - Date.parse(since)) / 1_000));
  const rows = newest.map(({ kind, state, startedAt, endedAt, outcome }) => [
    kind,
    endedAt === null ? 'runs' : state,
    endedAt === null ? `for ${ago(startedAt)}` : `${ago(endedAt)} ago`,
    outcome === null ? '-' : String(outcome.exitCode),
  ]);
  // A sentence of any length would make a column as wide: it stands below.
  const failures = newest.flatMap(({ kind, failure }) => (failure === null ? [] : [`! ${kind}: ${failure.message}`]));
  return [...textTable(['job', 'state', '>when', '>exit code'], rows), ...failures];
}

/** Standing for the exit code of `holdfast status --check`. */
export function standingOf(report: StatusReport): Standing {
  // An operator cannot undo a loss, so the sentence names what can be done; a supervisor hears of the loss all the
  // same.
  return report.chain.lost > 0 ? 'danger' : judge(report).standing;
}

function judge(report: StatusReport): Verdict {
  const { node, chain, content, smallestSlackSeconds: slack, conditions } = report;
  if (content.atRisk !== null && content.atRisk > 0) {
    const blobs = describeCount(content.atRisk, 'blob is', 'blobs are');
    const until = slack === null ? '' : `; ${deadline(slack)}`;
    return { standing: 'danger', sentence: `AT RISK: ${blobs} on chain and not durable here${until}.` };
  }
  const urgent = conditions.find(({ severity, code }) => severity === 'critical' && code !== 'chain/lost');
  if (urgent !== undefined) return { standing: 'danger', sentence: `CRITICAL: ${urgent.message}` };
  if (!node.reachable) return cannotTell('the node does not answer');
  if (content.atRisk === null || chain.lagBlocks === null || chain.lagBlocks > MAX_LAG_BLOCKS) {
    return cannotTell(`the chain is not walked to its end${lag(chain.lagBlocks)}`);
  }
  // An archive that cannot do its work does not say that nothing is at risk.
  const blocking = conditions.find(({ blocksReadiness }) => blocksReadiness);
  if (blocking !== undefined) return { standing: 'unknown', sentence: `NOT READY: ${blocking.message}` };
  if (chain.lost > 0) {
    const blobs = describeCount(chain.lost, 'blob is', 'blobs are');
    return { standing: 'danger', sentence: `Nothing more is at risk; ${blobs} LOST.` };
  }
  const others =
    conditions.length === 0 ? '' : `; ${describeCount(conditions.length, 'condition', 'conditions')} to look at`;
  return { standing: 'safe', sentence: `Nothing is at risk${others}.` };
}

function cannotTell(why: string): Verdict {
  return { standing: 'unknown', sentence: `CANNOT TELL whether anything is at risk: ${why}.` };
}

function lag(blocks: number | null): string {
  return blocks === null || blocks === 0 ? '' : `, ${describeCount(blocks, 'block', 'blocks')} behind the node`;
}

function deadline(slackSeconds: number): string {
  if (slackSeconds <= 0) return 'the node may have pruned the most urgent one already';
  return `the node may prune the most urgent one in ${describeSeconds(slackSeconds)}`;
}
