import { z } from 'zod';
import { describeBytes, describeCount } from '../describe.ts';

const reason = { path: z.string(), why: z.string() };

/** Events of an import that are shown to people. */
export const importEvent = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('progress'),
    source: z.string(),
    taken: z.number(),
    takenBytes: z.number(),
    alreadyHeld: z.number(),
    unusableCount: z.number(),
  }),
  z.object({ event: z.literal('unusable'), ...reason }),
  z.object({ event: z.literal('fault'), ...reason }),
  z.object({ event: z.literal('placing'), notStored: z.number() }),
]);
export type ImportEvent = z.output<typeof importEvent>;

export const importReport = z.object({
  taken: z.number(),
  takenBytes: z.number(),
  byRecord: z.number(),
  notPlacedCount: z.number(),
  notPlaced: z.array(z.object({ hashType: z.string(), versionHash: z.string() })),
  found: z.number(),
  alreadyHeld: z.number(),
  withheld: z.number(),
  records: z.number(),
  unusableCount: z.number(),
  faultCount: z.number(),
  notStored: z.number(),
});

/** A line that stays; null: the event is of this moment only. */
export function lineOf(event: ImportEvent): string | null {
  if (event.event === 'unusable') return `NOT USABLE  ${event.path}: ${event.why}`;
  return event.event === 'fault' ? `fault       ${event.path}: ${event.why}` : null;
}

/** The live line for an event; null: the event is a line that stays. */
export function stateOf(event: ImportEvent): string | null {
  if (event.event === 'placing') return `placing: ${blobs(event.notStored)} on their way to the backends`;
  if (event.event !== 'progress') return null;
  const { source, taken, takenBytes, alreadyHeld, unusableCount } = event;
  return `${source}: ${taken} taken (${describeBytes(takenBytes)}) · ${alreadyHeld} already here · ${unusableCount} not usable`;
}

/** Report of an import for people; unusable files were named when they were found. */
export function showReport(report: z.output<typeof importReport>): string[] {
  const { taken, takenBytes, byRecord, notPlacedCount, notPlaced, found, alreadyHeld, withheld } = report;
  const lines = [`${blobs(taken)} taken (${describeBytes(takenBytes)}), ${alreadyHeld} already here`];
  if (found > 0) lines.push(`${found} of them had been recorded as lost, and are not lost any more`);
  if (byRecord > 0)
    lines.push(`${byRecord} of them stand in a header by their occurrence record; the chain was not asked`);
  if (notPlacedCount > 0) {
    lines.push(`${notPlacedCount} of them are not placed yet: the chain says where they belong once it is walked`);
    for (const { hashType, versionHash } of notPlaced) lines.push(`  ${hashType} ${versionHash}`);
  }
  if (withheld > 0) lines.push(`${blobs(withheld)} not taken: an operator took them down`);
  if (report.unusableCount > 0) lines.push(`${report.unusableCount} files or parts are NOT USABLE, and were not taken`);
  if (report.faultCount > 0)
    lines.push(`${report.faultCount} could not be read or kept: fix that, and type the command again`);
  if (report.notStored > 0)
    lines.push(`${blobs(report.notStored)} durable here, and not on enough backends: see holdfast status`);
  return lines;
}

function blobs(count: number): string {
  return describeCount(count, 'blob', 'blobs');
}
