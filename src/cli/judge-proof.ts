import {
  type ChainVerdict,
  checkHeaderOnChain,
  judgeRun,
  judgeWork,
  log2Of,
  type OccurrenceRecord,
  type ProofLevel,
  type RunVerdict,
  reachedLevel,
  type WorkVerdict,
} from '../verify/index.ts';
import type { CliContext } from './cli-context.ts';
import { configuredNode } from './configured-node.ts';
import { CliError } from './errors.ts';
import { headerLookup } from './header-lookup.ts';
import type { AskedProof, AskedRun } from './proof-demand.ts';
import type { VerbOptions } from './verb-options.ts';

type RunFound = (AskedRun & { kind: 'refused' }) | RunVerdict;

/** Evidence of a record beyond its inclusion in a header. */
export interface JudgedProof {
  readonly reached: ProofLevel | null;
  readonly work: WorkVerdict;
  readonly headers: RunFound | null;
  /** The configured node's word; null: there is none. */
  readonly chain: ChainVerdict | null;
  readonly isOnChain: boolean;
  /** A demand is definitely not met, or a source contradicts the proof. */
  readonly isWrong: boolean;
  /** A source could not tell. */
  readonly isUnclear: boolean;
  readonly lines: readonly { readonly mark: string; readonly says: string }[];
}

/**
 * Judges a record whose inclusion holds.
 * @throws CliError `cli/usage` when the level needs evidence that the command lacks
 */
export async function judgeProof(
  record: OccurrenceRecord,
  asked: AskedProof,
  run: AskedRun | null,
  options: VerbOptions,
  context: CliContext,
): Promise<JudgedProof> {
  const work = judgeWork(record, asked);
  const headers: RunFound | null = run === null ? null : run.kind === 'run' ? judgeRun(record, run.run) : run;
  const chain = await askNode(record, options, context);
  if (asked.level === 'chain' && headers === null && chain === null) throw nobodyToAsk();
  const isDenied =
    headers?.kind === 'does-not-contain' || headers?.kind === 'refused' || chain?.kind === 'not-on-chain';
  const isOnChain = !isDenied && (headers?.kind === 'contains' || chain?.kind === 'on-chain');
  const isWorkAsked = asked.level !== 'inclusion';
  const isWorkDenied = isWorkAsked && (work.kind === 'too-little' || work.kind === 'refused');
  // Evidence of the chain itself makes the header's own work irrelevant.
  const isWorkNoted = !isWorkAsked || (work.kind === 'unbound' && isOnChain);
  const lines = [{ mark: isWorkNoted ? 'note  ' : WORK_MARKS[work.kind], says: work.says }];
  if (headers !== null) lines.push({ mark: MARKS[headers.kind], says: headers.says });
  if (chain !== null) lines.push({ mark: MARKS[chain.kind], says: chain.says });
  return {
    reached: reachedLevel(true, work, isOnChain),
    work,
    headers,
    chain,
    isOnChain,
    isWrong: isDenied || isWorkDenied,
    isUnclear: asked.level === 'chain' ? !isOnChain : headers?.kind === 'cannot-tell' || chain?.kind === 'cannot-tell',
    lines,
  };
}

const MARKS: Readonly<Record<ChainVerdict['kind'] | RunFound['kind'], string>> = {
  'on-chain': 'ok    ',
  contains: 'ok    ',
  'not-on-chain': 'WRONG ',
  'does-not-contain': 'WRONG ',
  refused: 'WRONG ',
  'cannot-tell': '?     ',
};

const WORK_MARKS: Readonly<Record<WorkVerdict['kind'], string>> = {
  enough: 'ok    ',
  unbound: '?     ',
  'too-little': 'WRONG ',
  refused: 'WRONG ',
};

export function judgedInJson({ work, headers, chain }: JudgedProof, asked: AskedProof) {
  return { work: workInJson(work, asked), headers: headers === null ? null : headersInJson(headers), chain };
}

/** JSON has no whole numbers of that size: hashes are digits in a text, and their power of two beside them. */
function workInJson({ kind, code, says, hashes, leastWork }: WorkVerdict, { profile }: AskedProof) {
  return { kind, code, says, network: profile.name, ...hashesInJson(hashes), leastWork: String(leastWork) };
}

function headersInJson(headers: RunFound) {
  if (headers.kind === 'refused') return headers;
  const { kind, says, hashes, hashesADay } = headers;
  return { kind, says, ...hashesInJson(hashes), hashesADay: hashesADay === null ? null : String(hashesADay) };
}

function hashesInJson(hashes: bigint | null) {
  return hashes === null ? { hashes, log2: null } : { hashes: String(hashes), log2: log2Of(hashes) };
}

/** null: no node is configured. */
async function askNode(record: OccurrenceRecord, options: VerbOptions, context: CliContext) {
  const client = configuredNode(options.config.values);
  if (client === null) return null;
  try {
    const verdict = await checkHeaderOnChain(record, headerLookup(client, context.signal));
    context.signal.throwIfAborted();
    return verdict;
  } finally {
    await client.close();
  }
}

function nobodyToAsk(): CliError {
  return new CliError('cli/usage', 'Nothing was named that could show that the header is part of the chain.', {
    retryable: false,
    hint: 'Give --headers and --checkpoint, or set HOLDFAST_NODE_URL to a node that you trust.',
  });
}
