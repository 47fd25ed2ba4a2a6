import type { AuditFinding, ChainAuditReport } from '../../archive/chain/audit.ts';
import { openUpkeep } from '../../daemon.ts';
import { createLogger } from '../../observability/logger.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { archiveFolder } from '../daemon-address.ts';
import { describeSeconds } from '../describe.ts';
import { CliError } from '../errors.ts';
import { humanLog } from '../human-log.ts';
import type { VerbOptions } from '../verb-options.ts';
import { VERSION } from '../version.ts';

/**
 * `holdfast check --chain`: is everything that is on chain stored? Exit code 3: something is lost or not stored, and is
 * listed; 1: heights were not examined, so that nothing can be said of them. Takes the lock of the folder.
 */
export async function checkChain({ config, own, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const range = { from: heightOf(own['from'], '--from'), to: heightOf(own['to'], '--to') };
  const dataDir = archiveFolder(config, context.cwd);
  const log = createLogger('error', humanLog(context.stderr));
  const settings = { ...config.values, dataDir };
  const { auditChain, close } = await openUpkeep({ settings, version: VERSION, emulated: false, log });
  try {
    const report = auditChain(range);
    if (json) printJson(context, report);
    else for (const line of linesOf(report)) print(context, line);
    if (report.findingCount > 0) return EXIT.missing;
    return report.isComplete ? EXIT.done : EXIT.failed;
  } finally {
    await close();
  }
}

function linesOf(report: ChainAuditReport): string[] {
  const { range, occurrences, examinedBlocks, unexamined, unclearTransactions, findings, findingCount } = report;
  const { stored, spooled, pending, lost } = occurrences;
  const lines = [
    `heights ${range.from} to ${range.to}: ${examinedBlocks} blocks examined`,
    `${stored} occurrences stored, ${spooled} spooled, ${pending} pending, ${lost} lost`,
    ...unexamined.map(({ from, to }) => `not examined: heights ${from} to ${to}`),
  ];
  if (unclearTransactions > 0)
    lines.push(`${unclearTransactions} transactions of version 137 carry no blob, or several`);
  lines.push(...findings.map(lineOf));
  if (findingCount > findings.length) lines.push(`and ${findingCount - findings.length} more`);
  if (report.isComplete) lines.push('complete');
  return lines;
}

function lineOf({ class: found, height, hashType, versionHash, txid, slackSeconds, answers }: AuditFinding): string {
  const slack = slackSeconds === null ? '' : `, ${describeSeconds(slackSeconds)} left`;
  const why = found === 'lost' ? `, not at ${answers.map(({ source, at }) => `${source} (${at})`).join(', ')}` : slack;
  return `${found.toUpperCase().padEnd(7)} ${hashType} ${versionHash} at height ${height} in ${txid}${why}`;
}

function heightOf(given: string | boolean | undefined, flag: string): number | null {
  if (given === undefined) return null;
  if (typeof given === 'string' && /^\d{1,10}$/.test(given)) return Number(given);
  throw new CliError('cli/usage', `${flag} takes a height, a whole number.`, {
    retryable: false,
    hint: 'Give --from 100000 --to 100500, or leave them out for everything that was walked.',
  });
}
