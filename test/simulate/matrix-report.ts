import type { CellResult, Claimed } from './matrix-cell.ts';
import { BACKENDS, kindsWithoutRow, type MatrixBackend, MOMENT_WORDS } from './matrix-cells.ts';

const BACKEND_WORDS: Readonly<Record<MatrixBackend, string>> = {
  disk: 'Local disk, beside a bucket',
  s3: 'S3 bucket, behind a cache',
  kubo: 'Kubo, behind a cache',
  catalog: 'Catalog file',
  node: 'Node, with the local disk alone',
  peer: 'Peer, for blobs that the node lacks',
  clock: 'Clock of the machine',
};

/** A cell in which the archiver claimed what is not so, or lost what some place or node had, or did not become whole. */
export function isFaulty({ falseClaim, lost, wholeSeconds, cell }: CellResult): boolean {
  return cell.reason === null && (falseClaim !== null || lost > 0 || wholeSeconds === null);
}

/** One table per backend, and totals. */
export function reportOf(results: readonly CellResult[]): string {
  const tables = BACKENDS.flatMap((backend) => {
    const some = results.filter(({ cell }) => cell.backend === backend);
    if (some.length === 0) return [];
    return [
      `## ${BACKEND_WORDS[backend]}`,
      '',
      '| fault | moment | claimed | told after | lost | whole after | clear after |',
      '|---|---|---|---|---|---|---|',
      ...some.map(rowOf),
      '',
    ];
  });
  return [
    '# Backend, fault and moment',
    '',
    ...tables,
    '## Events without a row',
    '',
    ...kindsWithoutRow().map(([kind, reason]) => `- \`${kind}\` ${reason}.`),
    '',
    '## Totals',
    '',
    ...totalsOf(results),
    '',
  ].join('\n');
}

export function rowOf(result: CellResult): string {
  const { cell, told, alerts, lost, wholeSeconds, clearSeconds, standing } = result;
  const begin = `| \`${cell.fault}\` | ${MOMENT_WORDS[cell.moment]} |`;
  if (cell.reason !== null) return `${begin} not run: ${cell.reason} | | | | |`;
  const conditions = told.map(({ code, afterSeconds, alertSeconds }) => {
    const alert = alertSeconds === null ? '' : `, alert ${duration(alertSeconds)}`;
    return `\`${code}\` ${duration(afterSeconds)}${alert}`;
  });
  const count = alerts === 0 ? '' : ` (${alerts} alerts)`;
  const stands =
    clearSeconds === null ? `not: ${standing.map((code) => `\`${code}\``).join(', ')}` : duration(clearSeconds);
  const whole = wholeSeconds === null ? '**never**' : duration(wholeSeconds);
  return [
    begin,
    ` ${claimedWords(result)} |`,
    ` ${conditions.length === 0 ? 'nothing' : conditions.join('; ')}${count} |`,
    ` ${lostWords(result, lost)} | ${whole} | ${stands} |`,
  ].join('');
}

function claimedWords({ claimed, blobs, checkExit, falseClaim }: CellResult): string {
  const words = claimed === null ? ['the process did not run'] : statesOf(claimed, blobs);
  if (checkExit !== null) words.push(`check ended with ${checkExit}`);
  if (falseClaim !== null) words.push(`**FALSE: ${falseClaim}**`);
  return words.join(', ');
}

function statesOf({ stored, spooled, seen, lost, safe, served, isReady }: Claimed, blobs: number): string[] {
  return [
    `${stored} stored`,
    ...(spooled > 0 ? [`${spooled} spooled`] : []),
    ...(seen > 0 ? [`${seen} not here`] : []),
    ...(lost > 0 ? [`${lost} lost`] : []),
    `${safe} final`,
    ...(served === null ? [] : [`${served} served`]),
    `of ${blobs}`,
    isReady ? 'ready' : 'not ready',
  ];
}

function lostWords({ takenAway, takenAwayTold }: CellResult, lost: number): string {
  const words = lost > 0 ? [`**${lost} that could be had**`] : [];
  if (takenAway > 0) words.push(`${takenAway} that could be had nowhere any more, ${takenAwayTold} told`);
  return words.length === 0 ? 'nothing' : words.join(', ');
}

function totalsOf(results: readonly CellResult[]): string[] {
  const run = results.filter(({ cell }) => cell.reason === null);
  const sum = (count: (result: CellResult) => number) => run.reduce((total, result) => total + count(result), 0);
  const slowest = run.reduce((most, { wholeSeconds }) => Math.max(most, wholeSeconds ?? 0), 0);
  return [
    `- ${results.length} cells: ${run.length} run, ${results.length - run.length} without sense, each with its reason.`,
    `- False claims: ${sum(({ falseClaim }) => Number(falseClaim !== null))}. Blobs lost that could be had: ${sum(({ lost }) => lost)}.`,
    `- Blobs that the fault itself took from every place and node: ${sum(({ takenAway }) => takenAway)}, of which ${sum(({ takenAwayTold }) => takenAwayTold)} were told as lost.`,
    `- Not whole in eight hours: ${sum(({ wholeSeconds }) => Number(wholeSeconds === null))}; slowest of the others: ${duration(slowest)}.`,
    `- A condition stands at the end: ${sum(({ clearSeconds }) => Number(clearSeconds === null))}.`,
  ];
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
