import { z } from 'zod';
import { describeSeconds } from '../describe.ts';
import { CliError } from '../errors.ts';

const range = z.object({ from: z.number(), to: z.number() });
const finding = z.object({
  class: z.string(),
  height: z.number(),
  hashType: z.string(),
  versionHash: z.string(),
  txid: z.string(),
  slackSeconds: z.number().nullable(),
  answers: z.array(z.object({ source: z.string(), at: z.string() })),
});
const chainReport = z.object({
  range,
  examinedBlocks: z.number(),
  unexamined: z.array(range),
  /** Counts by class, in the order in which they are shown. */
  occurrences: z.record(z.string(), z.number()),
  unclearTransactions: z.number(),
  findings: z.array(finding),
  findingCount: z.number(),
  isComplete: z.boolean(),
});

/** Result of `holdfast check --chain` for people. */
export function showChainReport(given: unknown): string[] {
  const report = chainReport.parse(given);
  const { range: asked, occurrences, examinedBlocks, unexamined, unclearTransactions, findings, findingCount } = report;
  const [first, ...others] = Object.entries(occurrences).map(([kind, count]) => ({ kind, count }));
  const lines = [
    `heights ${asked.from} to ${asked.to}: ${examinedBlocks} blocks examined`,
    [`${first?.count} occurrences ${first?.kind}`, ...others.map(({ kind, count }) => `${count} ${kind}`)].join(', '),
    ...unexamined.map(({ from, to }) => `not examined: heights ${from} to ${to}`),
  ];
  if (unclearTransactions > 0)
    lines.push(`${unclearTransactions} transactions of version 137 carry no blob, or several`);
  lines.push(...findings.map(lineOf));
  if (findingCount > findings.length) lines.push(`and ${findingCount - findings.length} more`);
  if (report.isComplete) lines.push('complete');
  return lines;
}

function lineOf({
  class: found,
  height,
  hashType,
  versionHash,
  txid,
  slackSeconds,
  answers,
}: z.infer<typeof finding>): string {
  const slack = slackSeconds === null ? '' : `, ${describeSeconds(slackSeconds)} left`;
  const why = found === 'lost' ? `, not at ${answers.map(({ source, at }) => `${source} (${at})`).join(', ')}` : slack;
  return `${found.toUpperCase().padEnd(7)} ${hashType} ${versionHash} at height ${height} in ${txid}${why}`;
}

export function heightOf(given: string | boolean | undefined, flag: string): number | null {
  if (given === undefined) return null;
  if (typeof given === 'string' && /^\d{1,10}$/.test(given)) return Number(given);
  throw new CliError('cli/usage', `${flag} takes a height, a whole number.`, {
    retryable: false,
    hint: 'Give --from 100000 --to 100500, or leave them out for everything that was walked.',
  });
}
