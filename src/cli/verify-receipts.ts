import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { type NamedHash, parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import {
  checkReceipt,
  keysOf,
  looksLikeReceipt,
  parseReceipt,
  type Receipt,
  type ReceiptContradiction,
  receiptContradictionOf,
  VerifyError,
} from '../verify/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from './cli-context.ts';

export interface AskedReceipts {
  /** Public keys of archivers that the caller knows; empty: none. */
  readonly knownKeys: readonly string[];
  /** Receipts to compare with; null: none. */
  readonly other: string | null;
}

interface Step {
  readonly step: string;
  readonly ok: boolean;
  readonly says: string;
}

interface Checked {
  readonly receipt: Receipt | null;
  readonly steps: readonly Step[];
}

/** The receipts of one file. */
export interface GivenReceipts {
  readonly texts: readonly string[];
  /** The blob that each receipt has to be of; null: any blob. */
  readonly versionHash: VersionHash | null;
}

/** The receipts of a text: one, or what `holdfast submit --receipt --json` printed. null: the text is meant to be neither. */
export function receiptsIn(text: string): GivenReceipts | null {
  if (looksLikeReceipt(text)) return { texts: [text], versionHash: null };
  try {
    const value = parseBoundedJson(text);
    if (typeof value !== 'object' || value === null || !('archives' in value) || !Array.isArray(value.archives))
      return null;
    const given = value.archives.flatMap((one: unknown) =>
      typeof one === 'object' && one !== null && 'receipt' in one ? [one.receipt] : [],
    );
    if (given.length === 0) return null;
    const [first] = given;
    return {
      texts: given.map((one) => JSON.stringify(one)),
      // Receipts of several blobs would be counted as if so many archivers had one of them.
      versionHash: hashIn(value) ?? hashIn(memberOf(first, 'statement')),
    };
  } catch {
    return null;
  }
}

function hashIn(value: unknown): VersionHash | null {
  const found = memberOf(value, 'versionHash');
  return typeof found === 'string' && /^[0-9a-f]{64}$/.test(found) ? parseVersionHash(found) : null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? new Map<string, unknown>(Object.entries(value)).get(name) : null;
}

/**
 * Exit code 0: keys that the caller knows signed all of them. 1: all of them are signed, and the caller named no key. 3: a
 * signature does not hold, or a key is not known. 3 also: a receipt is of another blob than the others, or two receipts of
 * one archiver contradict each other.
 */
export async function verifyReceipts(
  file: string,
  given: GivenReceipts,
  { knownKeys, other }: AskedReceipts,
  { json, context }: { readonly json: boolean; readonly context: CliContext },
): Promise<ExitCode> {
  const keys = knownKeys.length === 0 ? null : knownKeys;
  const found = await allChecked(given, keys);
  const others =
    other === null ? [] : await allChecked(receiptsIn(other) ?? { texts: [other], versionHash: null }, keys);
  const checked = [...found, ...others];
  const steps = checked.flatMap((one) => one.steps);
  const receipts = checked.flatMap(({ receipt }) => (receipt === null ? [] : [receipt]));
  const holds = steps.every(({ ok }) => ok);
  const contradiction = holds ? contradictionIn(receipts) : null;
  const archivers = countArchivers(found.flatMap(({ receipt }) => (receipt === null ? [] : [receipt])));
  const verified = holds && keys !== null && contradiction === null;
  if (json) printJson(context, { file, level: 'signature', verified, archivers, steps, contradiction, receipts });
  else {
    for (const { ok, says } of steps) print(context, `${ok ? 'ok    ' : 'WRONG '}  ${says}`);
    if (contradiction !== null) print(context, `WRONG   Two receipts contradict each other. ${contradiction.says}`);
    if (holds && keys === null) print(context, '?       Whose keys these are, nothing here says: give --key for each.');
    for (const receipt of receipts) for (const line of receiptLines(receipt)) print(context, line);
    if (holds) print(context, `Receipts of ${archivers} archivers.`);
  }
  if (!holds || contradiction !== null) return EXIT.missing;
  return verified ? EXIT.done : EXIT.failed;
}

async function allChecked(given: GivenReceipts, keys: readonly string[] | null): Promise<Checked[]> {
  const name = given.versionHash === null ? null : { versionHash: given.versionHash, hashType: null };
  return await Promise.all(given.texts.map((text) => checked(text, keys, name)));
}

async function checked(text: string, keys: readonly string[] | null, name: NamedHash | null): Promise<Checked> {
  try {
    const receipt = parseReceipt(text);
    return { receipt, steps: await checkReceipt(receipt, keys, name) };
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error;
    return { receipt: null, steps: [{ step: 'receipt', ok: false, says: error.message }] };
  }
}

function contradictionIn(receipts: readonly Receipt[]): ReceiptContradiction | null {
  for (const [index, one] of receipts.entries()) {
    for (const other of receipts.slice(index + 1)) {
      const found = receiptContradictionOf(one, other);
      if (found !== null) return found;
    }
  }
  return null;
}

/** Keys that lead to each other are of one archiver. */
function countArchivers(receipts: readonly Receipt[]): number {
  const isFirst = (receipt: Receipt, index: number) =>
    !receipts.slice(0, index).some((before) => keysOf(before).some((key) => keysOf(receipt).includes(key)));
  return receipts.filter(isFirst).length;
}

/** Describes a receipt for people: a receipt is the word of who signed it, and no proof. */
export function receiptLines({ statement }: Receipt): string[] {
  const { archiver, key, chain, hashType, versionHash, sizeBytes, txid, vout, height, blockHash, at } = statement;
  return [
    `receipt of the archiver ${archiver}, made ${at}, with the key ${key}`,
    `stored and final: ${hashType} ${versionHash}, ${sizeBytes} bytes`,
    `output ${vout} of transaction ${txid}, height ${height}, block ${blockHash}, chain ${chain}`,
  ];
}
