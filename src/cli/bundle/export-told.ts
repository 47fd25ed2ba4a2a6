import { z } from 'zod';
import { describeBytes, describeCount } from '../describe.ts';
import { bar, type Rate, remaining } from '../progress.ts';

const notExported = {
  hashType: z.string(),
  versionHash: z.string(),
  height: z.number(),
  holding: z.enum(['missing', 'lost']),
};

/** Events of an export that are shown to people. */
export const exportEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('planning'), height: z.number(), to: z.number() }),
  z.object({
    event: z.literal('progress'),
    file: z.string(),
    doneBytes: z.number(),
    sizeBytes: z.number(),
    blobs: z.number(),
  }),
  z.object({ event: z.literal('not-exported'), ...notExported }),
]);
export type ExportEvent = z.output<typeof exportEvent>;

export const exportReport = z.object({
  file: z.string(),
  sizeBytes: z.number(),
  root: z.string(),
  from: z.number(),
  to: z.number(),
  inventory: z.string(),
  counts: z.object({
    missing: z.number(),
    stored: z.number(),
    lost: z.number(),
    withheld: z.number(),
    custom: z.number(),
    'not-archived-by-rule': z.number(),
  }),
  blobs: z.number(),
  records: z.number(),
  keptBytes: z.number(),
  notExportedCount: z.number(),
});

/** A line that stays; null: the event is of this moment only. */
export function lineOf(event: ExportEvent): string | null {
  if (event.event !== 'not-exported') return null;
  const { holding, hashType, versionHash, height } = event;
  return `${holding === 'lost' ? 'LOST       ' : 'NOT STORED '} ${hashType} ${versionHash} at height ${height}`;
}

/** The live line for an event; null: the event is a line that stays. */
export function stateOf(event: ExportEvent, rate: Rate): string | null {
  if (event.event === 'planning') return `planning: at height ${event.height}, up to ${event.to}`;
  if (event.event === 'not-exported') return null;
  const { doneBytes, sizeBytes, blobs, file } = event;
  const perSecond = rate.at(doneBytes);
  const pace = `${describeBytes(Math.round(perSecond))}/s${remaining(sizeBytes - doneBytes, perSecond)}`;
  return `${bar(doneBytes, sizeBytes)} · ${describeBytes(doneBytes)} of ${describeBytes(sizeBytes)}, ${pace} · ${blobs} blobs · ${file}`;
}

export function showReport(report: z.output<typeof exportReport>): string[] {
  const { file, sizeBytes, root, from, to, counts, blobs, records, keptBytes, notExportedCount } = report;
  const written = describeCount(blobs, 'blob', 'blobs');
  const lines = [
    `${file}: heights ${from} to ${to}, ${written} and ${records} records, ${describeBytes(sizeBytes)}`,
    `root ${root}`,
    `inventory ${report.inventory}`,
  ];
  if (keptBytes > 0) lines.push(`${describeBytes(keptBytes)} of an earlier run were compared and kept`);
  if (counts.withheld > 0)
    lines.push(`${counts.withheld} occurrences are not in it: an operator took their blobs down`);
  const leftOut = counts['not-archived-by-rule'];
  if (leftOut > 0) lines.push(`${leftOut} occurrences are not in it: a rule of the operator leaves their blobs out`);
  if (counts.custom > 0) lines.push(`${counts.custom} custom commitments are not in it`);
  if (notExportedCount > 0) lines.push(`${notExportedCount} blobs are NOT IN IT: they are final and not stored here`);
  return lines;
}
