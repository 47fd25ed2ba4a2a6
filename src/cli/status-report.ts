import { z } from 'zod';
import { describeBytes, describeCount, describeSeconds } from './describe.ts';

const count = z.number();
/** What the commands read of `/v1/status`; `--json` prints all of it. */
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
  backends: z.array(z.looseObject({ id: z.string(), state: z.string(), queued: count, damaged: count })),
  withheld: z.looseObject({ count }),
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

/** A walk that is further behind knows nothing of what is on chain. */
const MAX_LAG_BLOCKS = 2;
const STATES: Readonly<Record<string, string>> = {
  good: 'in use',
  'not-admitted': 'NOT IN USE: not reached yet, or refused',
  'left-alone': 'NOT IN USE: it failed, and is tried again after a pause',
};

/** What a running archive says of itself, for people: first whether anything is at risk. */
export function showStatusReport(report: StatusReport, address: string): string[] {
  const { node, chain, content, withheld, smallestSlackSeconds: slack } = report;
  const nodeHeight = node.height === null ? '' : `, height ${node.height}`;
  const lines = [
    verdict(report),
    `holdfast ${report.version} at ${address}`,
    `chain    ${report.emulated ? 'emulated (nothing of it is real)' : 'the one that the node follows'}`,
    `node     ${node.name}, ${node.reachable ? 'reachable' : 'NOT REACHABLE'}${nodeHeight}`,
    `walked   ${chain.height === null ? 'nothing yet' : `to height ${chain.height}`}${lag(chain.lagBlocks)}`,
    `final    ${chain.finalHeight === null ? 'nothing yet' : `to height ${chain.finalHeight}`} (${chain.finality})`,
    `stored   ${content.stored} blobs, ${describeBytes(content.storedBytes)}`,
    `spooled  ${content.spooled} (durable here, not read back from enough backends yet)`,
    `seen     ${content.seen} (not here yet; ${content.failing} failed at least once)`,
    `at risk  ${content.atRisk === null ? 'cannot tell: the node has not named its tip' : content.atRisk}`,
    `slack    ${slack === null ? 'nothing is waiting' : `${describeSeconds(slack)} until the node may prune the next blob that is not here`}`,
    ...report.backends.map(
      ({ id, state, queued, damaged }) =>
        `backend  ${id}: ${STATES[state] ?? state}, ${queued} queued, ${damaged} damaged`,
    ),
    `lost     ${chain.lost}`,
    `withheld ${withheld.count}`,
  ];
  const { outage } = chain;
  if (outage !== null && outage.endedAt !== null) {
    const outcome = Object.entries(outage.outcome ?? {}).map(([kind, many]) => `${many} ${kind}`);
    lines.push(`gap      heights ${outage.from} to ${outage.to}, closed ${outage.endedAt}: ${outcome.join(', ')}`);
  }
  for (const { code, severity, message, hint } of report.conditions) {
    lines.push(`! ${severity}: ${message} (${code})`, `  ${hint}`);
  }
  return lines;
}

function verdict({ node, chain, content, smallestSlackSeconds: slack, conditions }: StatusReport): string {
  if (content.atRisk !== null && content.atRisk > 0) {
    const blobs = describeCount(content.atRisk, 'blob is', 'blobs are');
    return `AT RISK: ${blobs} on chain and not durable here${slack === null ? '' : `; ${deadline(slack)}`}.`;
  }
  // A loss cannot be undone by whoever reads this: it is told below what can.
  const urgent = conditions.find(({ severity, code }) => severity === 'critical' && code !== 'chain/lost');
  if (urgent !== undefined) return `CRITICAL: ${urgent.message}`;
  if (!node.reachable) return 'CANNOT TELL whether anything is at risk: the node does not answer.';
  if (content.atRisk === null || chain.lagBlocks === null || chain.lagBlocks > MAX_LAG_BLOCKS) {
    return `CANNOT TELL whether anything is at risk: the chain is not walked to its end${lag(chain.lagBlocks)}.`;
  }
  const blocking = conditions.find(({ blocksReadiness }) => blocksReadiness);
  if (blocking !== undefined) return `NOT READY: ${blocking.message}`;
  const lost = chain.lost === 0 ? '' : `; ${describeCount(chain.lost, 'blob is', 'blobs are')} LOST`;
  if (lost !== '') return `Nothing more is at risk${lost}.`;
  const others = describeCount(conditions.length, 'condition', 'conditions');
  return conditions.length === 0 ? 'Nothing is at risk.' : `Nothing is at risk; ${others} to look at.`;
}

function lag(blocks: number | null): string {
  return blocks === null || blocks === 0 ? '' : `, ${describeCount(blocks, 'block', 'blocks')} behind the node`;
}

function deadline(slackSeconds: number): string {
  if (slackSeconds <= 0) return 'the node may have pruned the most urgent one already';
  return `the node may prune the most urgent one in ${describeSeconds(slackSeconds)}`;
}
