import type { Command } from 'commander';
import { z } from 'zod';
import { parseNamedHash } from '../../core/blob/ids.ts';
import type { AskedJob } from '../attached-job.ts';
import { type CliContext, type ExitCode, print, printJson } from '../cli-context.ts';
import { CliError } from '../errors.ts';
import { runJob } from '../run-job.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command
    .argument('[version hash]', '64 hex characters; 0x and the 66-character form are accepted')
    .option('--reason <text>', 'why; recorded on every backend, and shown to operators alone')
    .option('--public-reason <text>', 'one line that everybody who asks for the blob is told')
    .option('--purge', 'also delete its bytes, here and on every backend that allows it')
    .option('--revoke', 'serve it again, as far as its bytes can still be found')
    .option('--list', 'show what is withheld, by whom and why');
}

const entry = z.object({
  versionHash: z.string(),
  hashType: z.string(),
  archiver: z.string(),
  reason: z.string(),
  publicReason: z.string().nullable(),
  atMs: z.number(),
  purge: z.boolean(),
});
const undelivered = z.record(z.string(), z.string());
const withheldReport = z.object({
  withheld: z.array(entry),
  purged: z.array(
    z.object({
      place: z.string(),
      hashType: z.string(),
      outcome: z.enum(['deleted', 'not-there', 'locked', 'failed']),
      message: z.string().nullable(),
    }),
  ),
  undelivered,
});
const revokedReport = z.object({
  revoked: z.array(z.object({ hashType: z.string(), versionHash: z.string() })),
  found: z.array(z.string()),
  stillWithheldBy: z.array(z.string()),
  undelivered,
});
const listReport = z.object({ withheld: z.array(entry) });

/** Exit code 3: bytes that were to be purged are still somewhere, and it is listed where. */
export async function handle(options: VerbOptions, context: CliContext, [hash]: readonly string[]): Promise<ExitCode> {
  const asked = askedJob(hash, options);
  const { exitCode, report } = await runJob(asked, options, context, () => {});
  if (options.json) printJson(context, report);
  else for (const line of linesOf(asked.kind, report)) print(context, line);
  return exitCode;
}

function askedJob(hash: string | undefined, { own }: VerbOptions): AskedJob {
  const { list, revoke, reason, publicReason, purge } = own;
  const given = [list, revoke, reason].filter((one) => one !== undefined);
  const isDetailed = purge === true || publicReason !== undefined;
  if (given.length !== 1 || (isDetailed && reason === undefined)) {
    throw usage('Give a version hash with --reason (and --public-reason, --purge), or with --revoke; or --list alone.');
  }
  if (list === true) {
    if (hash !== undefined) throw usage('--list takes no version hash.');
    return { kind: 'withhold-list', parameters: {} };
  }
  if (hash === undefined) throw usage('Name the version hash of the blob.');
  parseNamedHash(hash);
  if (revoke === true) return { kind: 'withhold-revoke', parameters: { hash } };
  return { kind: 'withhold', parameters: { hash, reason, publicReason: publicReason ?? null, purge: purge === true } };
}

function linesOf(kind: string, report: unknown): string[] {
  if (kind === 'withhold-list') {
    const { withheld } = listReport.parse(report);
    return withheld.length === 0 ? ['Nothing is withheld.'] : withheld.map(lineOf);
  }
  if (kind === 'withhold-revoke') {
    const { revoked, found, stillWithheldBy, undelivered: waiting } = revokedReport.parse(report);
    return [
      ...revoked.map(({ hashType, versionHash }) => `withheld no more: ${hashType} ${versionHash}`),
      ...stillWithheldBy.map((archiver) => `still withheld by the archiver ${archiver}`),
      found.length === 0
        ? 'No good copy was found; it is fetched again if that is still possible.'
        : `Good copies: ${found.join(', ')}`,
      ...waitingLines(waiting),
    ];
  }
  const { withheld, purged, undelivered: waiting } = withheldReport.parse(report);
  return [
    ...withheld.map(lineOf),
    ...purged
      .filter(({ outcome }) => outcome !== 'not-there')
      .map(
        ({ place, hashType, outcome, message }) =>
          `${place}: ${hashType === 'custom' ? 'custom commitments ' : ''}${outcome}${message === null ? '' : `: ${message}`}`,
      ),
    ...waitingLines(waiting),
  ];
}

function lineOf(one: z.infer<typeof entry>): string {
  const { hashType, versionHash, archiver, reason, publicReason, atMs, purge } = one;
  const at = new Date(atMs).toISOString();
  // A reason may come from another archiver: what a terminal would obey is not shown.
  const shown = reason.replaceAll(/\p{Cc}/gu, ' ');
  return `withheld ${hashType} ${versionHash} since ${at} by ${archiver}${purge ? ', purged' : ''}: ${shown}${publicReason === null ? '' : `; publicly: ${publicReason}`}`;
}

function waitingLines(waiting: Readonly<Record<string, string>>): string[] {
  return Object.entries(waiting).map(([backend, why]) => `${backend} gets the record later: ${why}`);
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, {
    retryable: false,
    hint: 'Like: holdfast withhold <version hash> --reason "court order 17" --purge.',
  });
}
