import { z } from 'zod';
import type { Subset } from '../../replication/upkeep.ts';
import { CliError } from '../errors.ts';
import { textTable } from '../text-table.ts';

const count = z.number();
export const checkProgress = z.object({
  event: z.literal('progress'),
  backend: z.string(),
  step: z.string(),
  done: count,
  total: count.nullable(),
});

const copies = z.array(z.object({ backend: z.string(), hashType: z.string(), versionHash: z.string() }));
const checkFields = z.object({
  backends: z.array(
    z.object({
      backend: z.string(),
      listed: count,
      unknown: count,
      read: count,
      missing: count,
      damaged: count,
      missingRecords: count,
      isResumed: z.boolean(),
      fault: z.string().nullable(),
    }),
  ),
  custom: z.array(
    z.object({
      backend: z.string(),
      listed: count,
      unknown: count,
      read: count,
      missing: count,
      damaged: count,
      isResumed: z.boolean().default(false),
      fault: z.string().nullable(),
    }),
  ),
  left: z.array(
    z.object({
      backend: z.string(),
      hashType: z.string(),
      versionHash: z.string(),
      keccak: z.string().optional(),
      elsewhere: z.boolean(),
    }),
  ),
  leftCount: count,
  repairedMeanwhile: copies.optional(),
  /** The earlier name, which a daemon of release 0.1 says alone or beside it. */
  mended: copies.optional(),
  repaired: count,
  waiting: z.record(z.string(), count),
  notAsked: z.array(z.string()),
  short: z.object({ required: count, blobs: count }).nullable(),
});
export const checkReport = checkFields.transform(({ mended, ...report }) => ({
  ...report,
  repairedMeanwhile: report.repairedMeanwhile ?? mended ?? [],
}));
type CheckReport = z.infer<typeof checkReport>;

/** `3/30`: the third of thirty equal parts. */
export function parseSubset(text: string): Subset {
  const [, index, of] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  const subset = { index: Number(index), of: Number(of) };
  if (subset.of >= 1 && subset.index >= 1 && subset.index <= subset.of) return subset;
  throw new CliError('cli/usage', `A part of everything is written like 3/30, not ${text}.`, {
    retryable: false,
    hint: 'Give --subset 1/30 on the first day, 2/30 on the second, and so on.',
  });
}

/** Result of a check for people, with the next command to type. */
export function showReport(report: CheckReport, repaired: boolean): string[] {
  const lines = [...leftLines(report), ...unaskedLines(report)];
  const faults = report.backends.flatMap(({ backend, fault }) =>
    fault === null ? [] : [`${backend}: could not be asked: ${fault}`],
  );
  lines.push(...countTable(report), ...faults, ...customFaults(report));
  for (const [backend, count] of Object.entries(report.waiting)) {
    if (count > 0 && !report.notAsked.includes(backend))
      lines.push(`${backend}: ${count === 1 ? '1 blob waits' : `${count} blobs wait`} for a first copy there`);
  }
  const resumed = [...report.backends, ...report.custom].flatMap(({ backend, isResumed }) =>
    isResumed ? [backend] : [],
  );
  for (const backend of new Set(resumed)) {
    lines.push(`${backend}: what came before was read by the check that was interrupted`);
  }
  for (const { backend, missingRecords } of report.backends) {
    if (missingRecords > 0)
      lines.push(
        `${backend}: ${missingRecords === 1 ? '1 record is' : `${missingRecords} records are`} missing there; holdfast run writes what is missing`,
      );
  }
  if (report.repaired > 0)
    lines.push(`${report.repaired === 1 ? '1 copy was' : `${report.repaired} copies were`} brought back`);
  for (const { backend, hashType, versionHash } of repaired ? [] : report.repairedMeanwhile) {
    lines.push(`repaired ${backend} ${hashType} ${versionHash}`);
  }
  for (const { backend, hashType, versionHash, keccak, elsewhere } of report.left) {
    const name = keccak === undefined ? versionHash : `${versionHash}/${keccak}`;
    lines.push(`${elsewhere ? 'damaged' : 'LOST   '} ${backend} ${hashType} ${name}`);
  }
  if (report.leftCount > report.left.length) lines.push(`and ${report.leftCount - report.left.length} more`);
  return [...lines, ...nextCommand(report, repaired)];
}

/** Before any count: a copy that an earlier check found bad is in no count of this one. */
function leftLines({ left, leftCount }: CheckReport): string[] {
  const lost = left.filter(({ elsewhere }) => !elsewhere);
  const names = new Set(lost.map(({ hashType, versionHash, keccak }) => `${hashType}/${versionHash}/${keccak}`)).size;
  const isAll = leftCount === left.length;
  const lines: string[] = [];
  if (names > 0) {
    lines.push(
      `LOST: no backend has a good copy of ${isAll ? '' : 'at least '}${names === 1 ? '1 blob' : `${names} blobs`}.`,
    );
  }
  const others = leftCount - lost.length;
  if (others > 0) {
    const good = isAll ? 'and good ones are elsewhere' : 'and not all of them are named below';
    lines.push(`${others === 1 ? '1 copy is' : `${others} copies are`} missing or damaged, ${good}.`);
  }
  return lines;
}

/** Unexamined places, the most severe first, with their meaning for the blobs. */
function unaskedLines({ notAsked, short }: CheckReport): string[] {
  if (notAsked.length === 0) return [];
  const unknown = `${notAsked.join(', ')} could not be asked, or not to the end: the copies there are not counted.`;
  if (short === null || short.blobs === 0) return [unknown];
  const blobs = short.blobs === 1 ? '1 blob has' : `${short.blobs} blobs have`;
  const copies = short.required === 1 ? 'no good copy that counts' : `fewer than ${short.required} good copies`;
  return [`${unknown} Without them, ${blobs} ${copies}.`];
}

/** Most archives have no custom commitments, and say nothing of them. */
function countTable({ backends, custom }: CheckReport): string[] {
  const asked = ({ fault }: CheckReport['custom'][number]) => fault === null;
  const row = (kind: string) => (counts: CheckReport['custom'][number]) => {
    const { backend, listed, read, missing, damaged, unknown } = counts;
    return [backend, kind, ...[listed, read, missing, damaged, unknown].map(String)];
  };
  const rows = [
    ...backends.filter(asked).map(row('blobs')),
    ...custom.filter((one) => asked(one) && one.listed + one.read > 0).map(row('custom commitments')),
  ];
  return textTable(['backend', 'of', '>listed', '>read', '>missing', '>damaged', '>not in the catalog'], rows);
}

function customFaults({ custom }: CheckReport): string[] {
  return custom.flatMap(({ backend, fault }) =>
    fault === null ? [] : [`${backend}: custom commitments could not be checked to the end: ${fault}`],
  );
}

function nextCommand(
  { left, leftCount, repairedMeanwhile, waiting, backends, custom }: CheckReport,
  repaired: boolean,
): string[] {
  if (leftCount === 0) {
    if (!repaired && repairedMeanwhile.length > 0) {
      return ['Every finding is good again: the running archive repaired it. Check the backends named above.'];
    }
    if ([...backends, ...custom].some(({ fault }) => fault !== null))
      return [
        'Next: look at the backends that could not be asked, then holdfast check again. The others miss nothing.',
      ];
    const isWaiting = Object.values(waiting).some((count) => count > 0);
    if (isWaiting) return ['Nothing is missing or damaged. Next: holdfast run, which places what waits.'];
    const isMissing = backends.some(({ missingRecords }) => missingRecords > 0);
    return isMissing ? ['Every blob is as the catalog says.'] : ['Everything is as the catalog says.'];
  }
  if (!repaired) return ['Next: holdfast check --repair'];
  if (left.some(({ elsewhere }) => !elsewhere)) {
    return [
      'Of what is LOST no backend has a good copy. Next: holdfast run (it asks the node while it has them), or put a',
      'copy back from another archive and type holdfast rebuild.',
    ];
  }
  return ['Next: look at the backends named above, then holdfast check --repair again'];
}
