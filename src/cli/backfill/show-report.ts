import { describeBytes } from '../describe.ts';
import type { BackfillReport } from './backfill-events.ts';

/** Report of a backfill for people; missing contents were listed when they were found. */
export function showReport(report: BackfillReport): string[] {
  const { range, fetched, fetchedBytes, dryRun, foundHere, missingCount, unaskedCount } = report;
  const verb = dryRun ? 'would be fetched' : 'fetched';
  const lines = [
    `heights ${range.from} to ${range.to}: ${fetched} blobs ${verb} (${describeBytes(fetchedBytes)}${dryRun ? ' as far as sizes are told' : ''})`,
    ...report.sources.flatMap(sourceLines),
  ];
  if (foundHere > 0) lines.push(`${foundHere} were here or on a backend already, and were proven`);
  if (missingCount > 0) lines.push(`${missingCount} are MISSING: every named source answered, and none has them`);
  if (report.recordedLost > 0) lines.push(`${report.recordedLost} of them are recorded as lost`);
  if (report.leftOutCount > 0)
    lines.push(`${report.leftOutCount} are left out by rule: every named source answered, and none has them`);
  if (unaskedCount > 0) lines.push(`${unaskedCount} could not be asked of everybody: type the command again later`);
  if (report.notStored > 0)
    lines.push(`${report.notStored} are durable here, and not on enough backends: see holdfast status`);
  if (report.recordsWaiting > 0) lines.push(`${report.recordsWaiting} occurrence records are not on every backend yet`);
  if (report.evidenceWaiting > 0)
    lines.push(`${report.evidenceWaiting} documents of evidence are not on every backend yet`);
  if (missingCount + unaskedCount + report.notStored + report.recordsWaiting + report.evidenceWaiting === 0 && !dryRun)
    lines.push('complete');
  return lines;
}

function sourceLines({ source, gave, gaveBytes, wrongBytes, noAnswer, lastFault }: BackfillReport['sources'][number]) {
  const lines = gave > 0 ? [`${source}: gave ${gave} blobs (${describeBytes(gaveBytes)})`] : [];
  if (wrongBytes > 0) lines.push(`${source}: LIES, gave ${wrongBytes} times other bytes than it was asked for`);
  if (noAnswer > 0) lines.push(`${source}: gave no answer for ${noAnswer} blobs, at last: ${lastFault ?? 'unknown'}`);
  return lines;
}
