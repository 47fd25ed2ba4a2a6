import { forEachConcurrent } from '../backfill/for-each-concurrent.ts';
import { untilNothingMoves } from '../backfill/until-placed.ts';
import { exitCodeOf, type ImportEvent, type ImportReport } from './import-report.ts';
import { Importer, type ImportModules } from './importer.ts';
import type { Part } from './part.ts';
import { looksLikeRecord } from './proven-names.ts';
import { isUrl, type OpenBucket, sourceParts } from './source-parts.ts';
import type { StreamJudge } from './stream-parts.ts';

export type ImportResult = ImportReport & { readonly exitCode: 0 | 1 | 3 };

/** Parts under way at a time. They wait for the disk together: many share each commit of the catalog. */
const AT_A_TIME = 64;
const MEMORY = { limitBytes: 33_554_432, bytesOf } as const;

/**
 * Takes every blob of these sources that the chain, the catalog, an occurrence record or its own file name names. What was
 * taken is kept however the import ends, and the next run passes it over.
 * @throws BundleError when a source cannot be read
 */
export async function importSources(
  sources: readonly string[],
  { openBucket, ...modules }: ImportModules & { readonly openBucket: OpenBucket },
  report: (event: ImportEvent) => void,
  signal: AbortSignal,
): Promise<ImportResult> {
  const importer = new Importer(modules, report);
  const { clock } = modules;
  const sinceMs = clock.wallMs();
  await importer.begin();
  for (const source of sources.filter((one) => !isUrl(one))) {
    const options = { judge: NOTHING_IS_KNOWN, recordsOnly: true, openBucket };
    for await (const part of sourceParts(source, options, signal)) importer.lookForRecord(part);
  }
  for (const source of sources) {
    importer.beginSource(source);
    const options = { judge: importer, recordsOnly: false, openBucket };
    const parts = recordsFirst(sourceParts(source, options, signal), importer, signal);
    await forEachConcurrent(parts, AT_A_TIME, (part, ending) => importer.take(part, ending), signal, MEMORY);
  }
  const untilMs = clock.wallMs();
  const notStored = await untilNothingMoves(
    () => importer.notStored(sinceMs, untilMs),
    (waiting) => waiting,
    (waiting) => report({ event: 'placing', notStored: waiting }),
    clock,
    signal,
  );
  const done = { ...importer.outcome, notStored };
  return { exitCode: exitCodeOf(done), ...done };
}

/** While records are looked for: a bundle has each before its blob, and is read once. */
const NOTHING_IS_KNOWN: StreamJudge = { isKnown: async () => false, refusal: () => 'It is read later.' };

/** Hex text is in memory once more as the bytes that it stands for. */
function bytesOf(part: Part): number {
  if (part.kind === 'named') return part.bytes.length;
  return part.kind === 'bytes' ? part.bytes.length * 1.5 : 0;
}

/** A record is judged before anything that follows it: its blob may come next. */
async function* recordsFirst(
  parts: AsyncIterable<Part>,
  importer: Importer,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  for await (const part of parts) {
    if (part.kind === 'record' || (part.kind === 'bytes' && looksLikeRecord(part.bytes)))
      await importer.take(part, signal);
    else yield part;
  }
}
