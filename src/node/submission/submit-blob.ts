import type { BlockHash, TxId, VersionHash } from '../../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../core/blob/limits.ts';
import { SYSTEM_CLOCK } from '../../core/time/clock.ts';
import { pause } from '../../core/time/run-loop.ts';
import type { NodeClient } from '../client.ts';
import { NodeError } from '../errors.ts';
import { NEVER_ABORTED } from '../post.ts';
import { BlockFinder } from './block-finder.ts';
import { DEFAULT_POLL_MS, type SendOptions, sendOnce } from './send-once.ts';
import { isLocked, look, lookForTransaction, type Sighting, untraceable } from './sighting.ts';

/** Stages of a submission, in order. */
export const SUBMISSION_STAGES = ['sent', 'listed', 'mined', 'chain-locked'] as const;
export type SubmissionStage = (typeof SUBMISSION_STAGES)[number];

export type SubmissionProgress =
  | { readonly kind: 'stage'; readonly submission: Submission }
  /** A reorganisation disconnected the block; the transaction waits again. */
  | { readonly kind: 'unmined' }
  /** The answer to the submission was lost; the client polls for the blob. */
  | { readonly kind: 'looking'; readonly error: NodeError }
  /** The node does not answer at the moment. */
  | { readonly kind: 'waiting'; readonly error: NodeError };

export interface Submission {
  readonly stage: SubmissionStage;
  readonly versionHash: VersionHash;
  /** null: the cache had the blob and no transaction was made, or the answer with the txid was lost. */
  readonly txid: TxId | null;
  readonly blockHash: BlockHash | null;
  readonly height: number | null;
}

export interface DroppedSubmission {
  readonly stage: 'dropped';
  readonly versionHash: VersionHash;
  readonly txid: TxId | null;
  /** Observed reason, one clause. */
  readonly reason: string;
}

export interface SubmitOptions extends SendOptions {
  /** Stage to wait for. Default `listed`: known releases accept some blobs that they never list. */
  readonly until?: SubmissionStage;
  /** Milliseconds after which an accepted blob without a list entry counts as dropped. Default 30,000. */
  readonly listedWithinMs?: number;
  /** Milliseconds to wait for the stage, counted from the acceptance by the node. Default: no limit. */
  readonly stageWithinMs?: number;
  readonly onProgress?: (progress: SubmissionProgress) => void;
}

const DEFAULT_LISTED_WITHIN_MS = 30_000;
/** A look that is under way at the limit may take so long: the stage may have been reached. A node that hangs ends there. */
const LAST_LOOK_MS = 5_000;
/** The longest that a timer of the engine waits. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Consecutive polls that must find a transaction adrift: between mempool and block it is in neither for a moment. */
const ADRIFT_LOOKS = 2;

/**
 * Submits a blob once and waits. Resolves at the requested stage or when the blob was dropped. An abort throws the
 * signal's reason; a sent submission stays sent.
 * @throws NodeError. `node/submission-unknown`: the blob may have been sent. `node/stage-not-reached` (after `stageWithinMs`)
 * and `node/stage-unknown`: it was sent, and the details repeat what is known of it. Any other code: it was not sent.
 *
 * @example
 * const result = await submitBlob(client, bytes, { until: 'chain-locked' });
 * console.log(result.stage);
 */
export async function submitBlob(
  client: NodeClient,
  bytes: Uint8Array,
  options: SubmitOptions = {},
): Promise<Submission | DroppedSubmission> {
  const report = options.onProgress ?? (() => undefined);
  const submitted = await sendOnce(client, bytes, options, SYSTEM_CLOCK, (error) => report({ kind: 'looking', error }));
  const sent: Submission = { stage: 'sent', ...submitted, blockHash: null, height: null };
  report({ kind: 'stage', submission: sent });
  return (options.until ?? 'listed') === 'sent' ? sent : await watch(client, sent, options, report);
}

async function watch(
  client: NodeClient,
  sent: Submission,
  options: SubmitOptions,
  report: (progress: SubmissionProgress) => void,
): Promise<Submission | DroppedSubmission> {
  const signal = options.signal ?? NEVER_ABORTED;
  const { until = 'listed', stageWithinMs = Number.POSITIVE_INFINITY } = options;
  const sentMs = SYSTEM_CLOCK.steadyMs();
  const deadline = sentMs + (options.listedWithinMs ?? DEFAULT_LISTED_WITHIN_MS);
  const limitMs = stageWithinMs + LAST_LOOK_MS;
  const limit = limitMs <= MAX_TIMER_MS ? AbortSignal.timeout(Math.ceil(limitMs)) : NEVER_ABORTED;
  const limited = { ...options, signal: AbortSignal.any([signal, limit]) };
  const finder = new BlockFinder();
  let reached = sent;
  let strayed = 0;
  let shownMs = sentMs;
  const inTime = <T>(asking: Promise<T>): Promise<T> =>
    asking.catch((error: unknown) => {
      if (error === limit.reason) throw notInTime(reached, until, stageWithinMs);
      throw error instanceof NodeError ? stageUnknown(reached, until, error) : error;
    });
  for (;;) {
    const { seen, hidden } = await inTime(look(client, reached, finder, limited));
    strayed = seen.kind === 'absent' || seen.kind === 'adrift' ? strayed + 1 : 0;
    if (seen.kind === 'listed' || seen.kind === 'mined') shownMs = SYSTEM_CLOCK.steadyMs();
    const waitsForList = reached.stage === 'sent' && SYSTEM_CLOCK.steadyMs() < deadline;
    if (strayed >= ADRIFT_LOOKS && !waitsForList) {
      return await inTime(endOfStray(client, { reached, seen, shownMs, finder }, limited));
    }
    const now = hidden === null ? advanced(reached, seen) : later(reached, advanced(reached, seen));
    if (now.stage !== reached.stage || now.blockHash !== reached.blockHash) {
      report(rank(now) < rank(reached) ? { kind: 'unmined' } : { kind: 'stage', submission: now });
    }
    reached = now;
    if (rank(reached) >= SUBMISSION_STAGES.indexOf(until)) return reached;
    const leftMs = sentMs + stageWithinMs - SYSTEM_CLOCK.steadyMs();
    if (hidden !== null) {
      if (leftMs <= 0 || !passes(seen, hidden)) throw stageUnknown(reached, until, hidden);
      report({ kind: 'waiting', error: hidden });
    } else if (leftMs <= 0) throw notInTime(reached, until, stageWithinMs);
    await pause(Math.min(options.pollMs ?? DEFAULT_POLL_MS, leftMs), signal);
  }
}

/** Reports whether a later look can succeed. Nodes behind one address differ: one refuses what another knows. */
function passes(seen: Sighting, { retryable, code }: NodeError): boolean {
  return retryable || (seen.kind !== 'unanswered' && code === 'node/rpc-error');
}

interface Stray {
  readonly reached: Submission;
  readonly seen: Sighting;
  /** Steady time of the last look that showed the blob. */
  readonly shownMs: number;
  readonly finder: BlockFinder;
}

/** @throws NodeError when the node does not show whether the blob was dropped, or is final and was pruned */
async function endOfStray(
  client: NodeClient,
  { reached, seen, shownMs, finder }: Stray,
  options: SubmitOptions,
): Promise<Submission | DroppedSubmission> {
  if (await isLocked(client, reached.blockHash, options)) return { ...reached, stage: 'chain-locked' };
  const { stage, versionHash, txid, blockHash } = reached;
  if (seen.kind === 'adrift') return { stage: 'dropped', versionHash, txid, reason: seen.reason };
  const isTraced = stage !== 'mined' || blockHash !== null;
  if (txid === null || !isTraced) throw cannotTell();
  const last = await lookForTransaction(client, txid, finder, options);
  if (last.kind === 'mined') {
    const now = advanced(reached, last);
    // The block of a blob that was never listed does not show that the node has the blob.
    if (stage !== 'sent' && rank(now) >= SUBMISSION_STAGES.indexOf(options.until ?? 'listed')) return now;
    throw untraceable(`Its cache lacks the blob, whose transaction is in block ${last.blockHash}.`);
  }
  // The blocks since then may be more than were searched.
  if (SYSTEM_CLOCK.steadyMs() - shownMs > RETENTION_SECONDS * 1_000) throw cannotTell();
  const reason = stage === 'sent' ? 'the node accepted it and never listed it' : 'it vanished from the node’s cache';
  return { stage: 'dropped', versionHash, txid, reason };
}

function cannotTell(): NodeError {
  return untraceable('Its cache has the blob no longer: it was dropped, or it is final and was pruned.');
}

function advanced(reached: Submission, sighting: Sighting): Submission {
  switch (sighting.kind) {
    case 'unanswered':
    case 'absent':
    case 'adrift':
      return reached;
    case 'listed':
      return { ...reached, stage: 'listed', blockHash: null, height: null };
    case 'mined': {
      const { blockHash, height, locked } = sighting;
      return { ...reached, stage: locked ? 'chain-locked' : 'mined', blockHash, height };
    }
    default:
      return sighting satisfies never;
  }
}

/** An error hides later stages. It takes no stage back, and no block. */
function later(reached: Submission, now: Submission): Submission {
  return rank(now) > rank(reached) || (rank(now) === rank(reached) && now.blockHash !== null) ? now : reached;
}

const TO_WAIT_ON =
  'To wait on, submit the blob again with --keep-existing (`overwriteExisting: false`): a node that still has it makes no second transaction. The dialects `svc` and `syscoin-4.4` show no later stage then.';

function notInTime(reached: Submission, until: SubmissionStage, limitMs: number): NodeError {
  const seconds = Math.round(limitMs / 1_000).toLocaleString('en');
  const message = `${submittedWords(reached)}, and was not ${until} within ${seconds} s.`;
  const details = { ...reached, until };
  return new NodeError('node/stage-not-reached', message, { details, retryable: false, hint: TO_WAIT_ON });
}

function stageUnknown(reached: Submission, until: SubmissionStage, cause: NodeError): NodeError {
  const message = `${submittedWords(reached)}. Whether it is ${until} cannot be seen: ${cause.message}`;
  const hint = cause.code === 'node/stage-unknown' ? cause.hint : `${cause.hint} ${TO_WAIT_ON}`;
  return new NodeError('node/stage-unknown', message, {
    details: { ...reached, until },
    retryable: false,
    hint,
    cause,
  });
}

/** Repeats what the caller needs to find the blob: it is submitted, and paid for. */
function submittedWords({ stage, versionHash, txid }: Submission): string {
  const transaction = txid === null ? 'no transaction known' : `transaction ${txid}`;
  return `Blob ${versionHash} was submitted (${transaction}). It is ${stage}`;
}

function rank({ stage }: Submission): number {
  return SUBMISSION_STAGES.indexOf(stage);
}
