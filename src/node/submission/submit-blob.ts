import type { BlockHash, TxId, VersionHash } from '../../core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../core/time/clock.ts';
import { pause } from '../../core/time/run-loop.ts';
import type { NodeClient } from '../client.ts';
import { NodeError } from '../errors.ts';
import { NEVER_ABORTED } from '../post.ts';
import { BlockFinder } from './block-finder.ts';
import { DEFAULT_POLL_MS, type SendOptions, sendOnce } from './send-once.ts';
import { isLocked, look, type Sighting, type Submitted } from './sighting.ts';

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
 * @throws NodeError, for instance `node/submission-unknown`, or `node/stage-not-reached` after `stageWithinMs`
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
  const submitted = await sendOnce(client, bytes, options, (error) => report({ kind: 'looking', error }));
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
  const inTime = <T>(asking: Promise<T>): Promise<T> =>
    asking.catch((error: unknown) => {
      throw error === limit.reason ? notInTime(reached, until, stageWithinMs) : error;
    });
  for (;;) {
    const sighting = await inTime(lookPatiently(client, reached, finder, limited, report));
    strayed = sighting !== null && (sighting.kind === 'absent' || sighting.kind === 'adrift') ? strayed + 1 : 0;
    const waitsForList = reached.stage === 'sent' && SYSTEM_CLOCK.steadyMs() < deadline;
    if (strayed >= ADRIFT_LOOKS && !waitsForList) {
      if (await inTime(isLocked(client, reached.blockHash, limited))) return { ...reached, stage: 'chain-locked' };
      return { stage: 'dropped', versionHash: sent.versionHash, txid: sent.txid, reason: reasonOf(sighting, reached) };
    }
    const now = sighting === null ? reached : advanced(reached, sighting);
    if (now.stage !== reached.stage || now.blockHash !== reached.blockHash) {
      report(rank(now) < rank(reached) ? { kind: 'unmined' } : { kind: 'stage', submission: now });
    }
    reached = now;
    if (rank(reached) >= SUBMISSION_STAGES.indexOf(until)) return reached;
    const leftMs = sentMs + stageWithinMs - SYSTEM_CLOCK.steadyMs();
    if (leftMs <= 0) throw notInTime(reached, until, stageWithinMs);
    await pause(Math.min(options.pollMs ?? DEFAULT_POLL_MS, leftMs), signal);
  }
}

/** Resolves to null when the node does not answer now. */
async function lookPatiently(
  client: NodeClient,
  submitted: Submitted,
  finder: BlockFinder,
  options: SubmitOptions,
  report: (progress: SubmissionProgress) => void,
): Promise<Sighting | null> {
  try {
    return await look(client, submitted, finder, options);
  } catch (error) {
    if (!(error instanceof NodeError) || !error.retryable) throw error;
    report({ kind: 'waiting', error });
    return null;
  }
}

function advanced(reached: Submission, sighting: Sighting): Submission {
  switch (sighting.kind) {
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

function reasonOf(sighting: Sighting | null, reached: Submission): string {
  if (sighting?.kind === 'adrift') return sighting.reason;
  return reached.stage === 'sent' ? 'the node accepted it and never listed it' : 'it vanished from the node’s cache';
}

/** The message repeats what the caller needs to find the blob: it is submitted, and paid for. */
function notInTime(reached: Submission, until: SubmissionStage, limitMs: number): NodeError {
  const { stage, versionHash, txid, blockHash, height } = reached;
  const transaction = txid === null ? 'no new transaction' : `transaction ${txid}`;
  const seconds = Math.round(limitMs / 1_000).toLocaleString('en');
  return new NodeError(
    'node/stage-not-reached',
    `Blob ${versionHash} was submitted (${transaction}). It is ${stage}, and was not ${until} within ${seconds} s.`,
    {
      details: { stage, until, versionHash, txid, blockHash, height },
      retryable: false,
      hint: 'To wait on, submit the blob again with --keep-existing (`overwriteExisting: false`): a node that still has it makes no second transaction.',
    },
  );
}

function rank({ stage }: Submission): number {
  return SUBMISSION_STAGES.indexOf(stage);
}
