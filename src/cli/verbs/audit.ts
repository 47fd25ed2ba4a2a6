import type { Command } from 'commander';
import { LRUCache } from 'lru-cache';
import { addressWithoutCredentials } from '../../config/index.ts';
import type { HeightRange } from '../../core/height-range.ts';
import { getBlockHash, getRawBlock, type NodeClient } from '../../node/index.ts';
import { shareInWords } from '../../verify/held-share.ts';
import { type Attestation, checkAttestation, occurrencesOf, parseAttestation, parseBlock } from '../../verify/index.ts';
import { heightOf } from '../check/check-chain.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { nodeToAsk } from '../configured-node.ts';
import { CliError } from '../errors.ts';
import type { VerbOptions } from '../verb-options.ts';
import { knownKeyIn } from '../verify-attestation.ts';

const DEFAULT_SAMPLES = '300';
const MAX_SAMPLES = 100_000;
/** Blocks whose occurrences are remembered: a short range is asked of the node once. */
const REMEMBERED_BLOCKS = 4_096;

export function define(command: Command): Command {
  return command
    .argument('<url>', 'address of the archive; your own node says what is on chain')
    .option('--samples <number>', 'final occurrences to draw', DEFAULT_SAMPLES)
    .option('--from <height>', 'the first height (default: that of the attestation)')
    .option('--to <height>', 'the last height (default: that of the attestation)')
    .option('--key <public key>', 'a key of the archiver that you know: the attestation must be signed by it');
}

interface Step {
  readonly step: string;
  readonly ok: boolean;
  readonly says: string;
}

/**
 * Exit code 0: every sample was given and verified, was withheld, or is left out by a rule of the archive's operator. 3: something
 * is missing or wrong, or the attestation does not hold. 1: the archive did not answer for something, or there is nothing to draw from.
 */
export async function handle(
  options: VerbOptions,
  context: CliContext,
  [url = '']: readonly string[],
): Promise<ExitCode> {
  const { own, json, config } = options;
  const samples = samplesIn(own['samples']);
  const knownKey = knownKeyIn(own['key']);
  const [from, to] = [heightOf(own['from'], '--from'), heightOf(own['to'], '--to')];
  const client = await nodeToAsk(config, context.cwd);
  const { openAudit } = await import('../../app/audit-url.ts');
  const audited = await openAudit(url, chainOf(client));
  try {
    const answer = await audited.attestation(context.signal);
    const attestation = answer === null ? null : parseAttestation(JSON.stringify(answer));
    const steps = attestation === null ? [] : await checkedSteps(attestation, knownKey, client, context.signal);
    const range = rangeOf(attestation, from, to, url);
    const found = await audited.audit({ range, samples }, context.signal);
    const isAttested = steps.every(({ ok }) => ok) && (knownKey === null || attestation !== null);
    if (json) printJson(context, { archive: addressWithoutCredentials(url), attestation, steps, ...found });
    else for (const line of linesOf(steps, attestation, found)) print(context, line);
    const { absent, 'wrong-bytes': wrong, 'no-proof': unproven, 'no-answer': silent } = found.outcomes;
    if (!isAttested || absent + wrong + unproven > 0) return EXIT.missing;
    return silent > 0 || found.samples === 0 ? EXIT.failed : EXIT.done;
  } finally {
    await audited.close();
    await client.close();
  }
}

type Audit = Awaited<ReturnType<Awaited<ReturnType<typeof import('../../app/audit-url.ts')['openAudit']>>['audit']>>;

/** The blocks of the caller's own node, each proven before it counts. */
function chainOf(client: NodeClient) {
  type Found = {
    hash: Awaited<ReturnType<typeof getBlockHash>>;
    occurrences: ReturnType<typeof occurrencesOf>['occurrences'];
  };
  const known = new LRUCache<number, Found>({ max: REMEMBERED_BLOCKS });
  return {
    async blockAt(height: number, signal: AbortSignal): Promise<Found> {
      const found = known.get(height);
      if (found !== undefined) return found;
      const hash = await getBlockHash(client, height, { signal });
      const block = parseBlock(await getRawBlock(client, hash, { signal }));
      block.merkleTree();
      const made = { hash, occurrences: occurrencesOf(block).occurrences };
      known.set(height, made);
      return made;
    },
  };
}

/** The signatures, and that the attestation is of the node's chain. */
async function checkedSteps(
  attestation: Attestation,
  knownKey: string | null,
  client: NodeClient,
  signal: AbortSignal,
): Promise<Step[]> {
  const { chain, to, blockHash } = attestation.statement;
  const steps: Step[] = [...(await checkAttestation(attestation, knownKey))];
  const [genesis, theirs] = [await getBlockHash(client, 0, { signal }), await getBlockHash(client, to, { signal })];
  const isOnChain = genesis === chain && theirs === blockHash;
  const says = isOnChain
    ? `Its block ${blockHash} at height ${to} is on the chain of the node.`
    : `Its chain is ${chain}, and its block at height ${to} ${blockHash}; by the node they are ${genesis} and ${theirs}.`;
  return [...steps, { step: 'chain', ok: isOnChain, says }];
}

function rangeOf(attestation: Attestation | null, from: number | null, to: number | null, url: string): HeightRange {
  const [first, last] = [from ?? attestation?.statement.from, to ?? attestation?.statement.to];
  if (first !== undefined && last !== undefined && first <= last) return { from: first, to: last };
  const why =
    first === undefined || last === undefined ? 'has stated nothing' : `is asked for heights ${first} to ${last}`;
  throw new CliError('cli/usage', `${addressWithoutCredentials(url)} ${why}.`, {
    retryable: false,
    hint: 'Give --from and --to: heights that are final, the lower one first.',
  });
}

function samplesIn(given: string | boolean | undefined): number {
  const samples = typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) : 0;
  if (samples >= 1 && samples <= MAX_SAMPLES) return samples;
  throw new CliError('cli/usage', `--samples takes a number from 1 to ${MAX_SAMPLES}.`, {
    retryable: false,
    hint: 'With 300, all of them good, at least 98.47 % of the range is held, with 99 % confidence; with 3,000, 99.84 %.',
  });
}

function linesOf(steps: readonly Step[], attestation: Attestation | null, found: Audit): string[] {
  const { range, samples, outcomes, failures, latencyMs, heldAtLeast, confidence } = found;
  const { good, absent, withheld, 'wrong-bytes': wrong, 'no-proof': unproven, 'no-answer': silent } = outcomes;
  const leftOut = outcomes['not-archived-by-rule'];
  const counts = attestation?.statement.counts;
  return [
    ...steps.map(({ ok, says }) => `${ok ? 'ok    ' : 'WRONG '}  ${says}`),
    counts === undefined
      ? 'The archive has stated nothing.'
      : `It states ${counts.stored} stored, ${counts.missing} missing, ${counts.custom} custom, ${counts.withheld} withheld, ${counts.lost} lost, ${counts['not-archived-by-rule']} not archived by rule.`,
    `heights ${range.from} to ${range.to}: ${samples} occurrences drawn, ${good} good, ${absent} missing, ${wrong} wrong bytes, ${unproven} without proof, ${withheld} withheld, ${leftOut} not archived by rule, ${silent} not answered`,
    ...failures.map(
      ({ outcome, hashType, versionHash, txid, height }) =>
        `${outcome.toUpperCase().padEnd(11)} ${hashType} ${versionHash} at height ${height} in ${txid}`,
    ),
    ...(latencyMs === null
      ? []
      : [
          `milliseconds for a blob: ${[latencyMs.median, latencyMs.p95, latencyMs.longest].map(Math.round).join(', ')} (median, 95 %, longest)`,
        ]),
    samples === 0
      ? 'Nothing was drawn: the range has no occurrences, or too few.'
      : `With ${confidence * 100} % confidence at least ${shareInWords(heldAtLeast)} of the range is held and given.`,
  ];
}
