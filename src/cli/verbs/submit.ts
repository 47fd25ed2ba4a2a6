import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { clauseOf } from '../../core/blob/errors.ts';
import type { HashType } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { SYSTEM_CLOCK } from '../../core/time/clock.ts';
import {
  type DroppedSubmission,
  NodeError,
  SUBMISSION_STAGES,
  type Submission,
  type SubmissionProgress,
  type SubmissionStage,
  submitBlob,
} from '../../node/index.ts';
import { askedReceipts, printReceipts, waitForReceipts } from '../asked-receipts.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { nodeToAsk } from '../configured-node.ts';
import { CliError } from '../errors.ts';
import { feeOptions } from '../fee-options.ts';
import { again } from '../repeated-option.ts';
import type { VerbOptions } from '../verb-options.ts';

const DEFAULT_TIMEOUT_SECONDS = '1800';

export function define(command: Command): Command {
  return command
    .argument('<file>', 'the bytes, 1 to 2,097,152')
    .option(
      '--wait <stage>',
      `wait until the blob is: ${SUBMISSION_STAGES.join(', ')} (default: listed; with --receipt chain-locked)`,
    )
    .option('--receipt <number>', 'then wait until so many archivers signed that they stored it and that it is final')
    .option('--archive <url>', 'an archive to ask for its receipt; may be given several times', again)
    .option(
      '--key <public key>',
      'a key of one of these archivers that you know; may be given several times, and then no receipt of another counts',
      again,
    )
    .option(
      '--wait-timeout <seconds>',
      'how long to wait after the submission, for the stage and the receipts together (default: 1800)',
    )
    .option('--hash-type <type>', 'keccak256 or blake2s256 (release 5.1 and later)', 'keccak256')
    .option('--keep-existing', 'do not send again what the cache has; its six hours are then not extended')
    .option('--conf-target <blocks>', 'confirmation target (releases before 5)')
    .option('--estimate-mode <mode>', 'unset, economical or conservative (releases before 5)')
    .option('--fee-rate <sat/vB>', 'fee rate (releases before 5)')
    .option('--wallet <name>', 'wallet of the node, where several are loaded');
}

/**
 * Exit code 3: the node accepted the blob and then dropped it. 1: the stage of `--wait`, or as many receipts as were asked
 * for, did not come within `--wait-timeout`, or cannot be seen. With `--json` it still prints what was submitted.
 */
export async function handle(
  options: VerbOptions,
  context: CliContext,
  [file = '']: readonly string[],
): Promise<ExitCode> {
  const { own, json, config } = options;
  const asked = askedReceipts(own);
  const until = parseStage(own['wait'] ?? (asked === null ? 'listed' : 'chain-locked'));
  const hashType = parseHashType(own['hashType']);
  const limitMs = parseSeconds(own['waitTimeout'] ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
  const bytes = await readBlob(resolve(context.cwd, file));
  const client = await nodeToAsk(config, context.cwd);
  const sent: { atMs: number; as: Submission | null } = { atMs: SYSTEM_CLOCK.steadyMs(), as: null };
  try {
    const result = await submitBlob(client, bytes, {
      until,
      hashType,
      stageWithinMs: limitMs,
      signal: context.signal,
      overwriteExisting: own['keepExisting'] !== true,
      ...feeOptions(own),
      ...(typeof own['wallet'] === 'string' ? { wallet: own['wallet'] } : {}),
      onProgress: (progress) => {
        if (progress.kind === 'stage' && progress.submission.stage === 'sent') {
          sent.atMs = SYSTEM_CLOCK.steadyMs();
          sent.as = progress.submission;
        }
        if (!json) context.stderr.write(`${describeProgress(progress)}\n`);
      },
    });
    if (!json) print(context, describeEnd(result));
    if (asked === null || result.stage === 'dropped') {
      if (json) printJson(context, result);
      return result.stage === 'dropped' ? EXIT.missing : EXIT.done;
    }
    sent.as = result;
    const name = { hashType, versionHash: result.versionHash };
    const blob = { name, sizeBytes: bytes.length, highest: result.height };
    const timeoutMs = Math.max(1, Math.ceil(sent.atMs + limitMs - SYSTEM_CLOCK.steadyMs()));
    const collected = await waitForReceipts(blob, asked, client, { json, context, timeoutMs });
    if (json) printJson(context, { ...result, ...collected });
    else printReceipts(collected, asked.count, context);
    return collected.isEnough ? EXIT.done : EXIT.failed;
  } catch (error) {
    // A script reads from it that the blob was submitted, and as what.
    const isOfStage = error instanceof NodeError && error.details['stage'] !== undefined;
    if (json && sent.as !== null) printJson(context, isOfStage ? error.details : sent.as);
    throw error;
  } finally {
    await client.close();
  }
}

function describeProgress(progress: SubmissionProgress): string {
  switch (progress.kind) {
    case 'stage':
      return `${progress.submission.stage}  ${progress.submission.versionHash}`;
    case 'unmined':
      return 'a reorganisation took its block back; it waits again';
    case 'looking':
      return `the answer was lost (${progress.error.message}); looking whether it arrived`;
    case 'waiting':
      return `the node cannot be asked now: ${progress.error.message}`;
    default:
      return progress satisfies never;
  }
}

function describeEnd(result: Submission | DroppedSubmission): string {
  const transaction = result.txid === null ? 'no transaction known' : `transaction ${result.txid}`;
  if (result.stage === 'dropped') return `dropped: ${result.reason} (${result.versionHash}, ${transaction})`;
  const block = result.height === null ? '' : `, block ${result.height}`;
  return `${result.stage}: ${result.versionHash} (${transaction}${block})`;
}

async function readBlob(path: string): Promise<Uint8Array> {
  try {
    // A larger file is not read into memory to be refused; the client says why one byte more is too many.
    const { size } = await stat(path);
    if (size <= MAX_BLOB_BYTES) return await readFile(path);
    throw usage(`${path} has ${size} bytes; a blob has at most ${MAX_BLOB_BYTES}.`);
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw new CliError('cli/file', `${path} cannot be read: ${clauseOf(cause)}.`, {
      details: { path },
      retryable: false,
      hint: 'Name a file that you may read.',
      cause,
    });
  }
}

function parseStage(text: unknown): SubmissionStage {
  const found = SUBMISSION_STAGES.find((stage) => stage === text);
  if (found !== undefined) return found;
  throw usage(`--wait must be one of ${SUBMISSION_STAGES.join(', ')}, not ${String(text)}.`);
}

function parseSeconds(text: unknown): number {
  if (typeof text === 'string' && /^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw usage('--wait-timeout takes seconds, from 1 to 999,999.');
}

function parseHashType(text: unknown): HashType {
  if (text === 'keccak256' || text === 'blake2s256') return text;
  throw usage(`--hash-type must be keccak256 or blake2s256, not ${String(text)}.`);
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, { retryable: false, hint: 'See `holdfast submit --help`.' });
}
