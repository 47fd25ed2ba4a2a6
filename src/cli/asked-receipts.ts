import type { NamedHash } from '../core/blob/ids.ts';
import { getBlockHash, type NodeClient } from '../node/index.ts';
import { type ArchiveReceipt, type CollectedReceipts, collectReceipts } from '../reader/index.ts';
import { type CliContext, print } from './cli-context.ts';
import { CliError } from './errors.ts';
import { givenWords } from './repeated-option.ts';
import { knownKeysIn } from './verify-attestation.ts';
import { receiptLines } from './verify-receipts.ts';

export interface AskedReceipts {
  readonly count: number;
  readonly archives: readonly { readonly url: string }[];
  /** Empty: the caller knows none. */
  readonly keys: readonly string[];
}

/** The submitted blob, as the caller's own node reports it. */
export interface SubmittedBlob {
  readonly name: NamedHash;
  readonly sizeBytes: number;
  /** The highest block that a receipt may name: above it the node has not said yet that anything is final. null: any. */
  readonly highest: number | null;
}

/** null: none were asked for. @throws CliError `cli/usage` */
export function askedReceipts(own: Readonly<Record<string, string | boolean>>): AskedReceipts | null {
  const archives = givenWords(own['archive']).map((url) => ({ url }));
  const given = own['receipt'];
  if (given === undefined && archives.length === 0 && own['key'] === undefined) return null;
  const count = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0;
  if (count < 1 || count > archives.length)
    throw usage(`--receipt takes a number from 1 to that of the archives; --archive names ${archives.length}.`);
  // A wrong address would otherwise end the command after the blob was sent and paid for.
  for (const { url } of archives) if (!isArchiveAddress(url)) throw badAddress();
  return { count, archives, keys: knownKeysIn(own['key']) };
}

/** Waits for them. A receipt counts only where the caller's own node has the block that it names, at that height. */
export async function waitForReceipts(
  { name, sizeBytes, highest }: SubmittedBlob,
  { count, archives, keys }: AskedReceipts,
  client: NodeClient,
  { json, context, timeoutMs }: { readonly json: boolean; readonly context: CliContext; readonly timeoutMs: number },
): Promise<CollectedReceipts> {
  const genesis = await getBlockHash(client, 0, { signal: context.signal });
  return await collectReceipts(name, {
    ...{ archives, count, timeoutMs, signal: context.signal },
    ...(keys.length === 0 ? {} : { keys }),
    onProgress: (state) => json || context.stderr.write(`${stateLine(state)}\n`),
    check: async (said, signal) => {
      if (said.chain !== genesis) return `It is of the chain ${said.chain}; the node is on ${genesis}.`;
      if (said.sizeBytes !== sizeBytes) return `It says ${said.sizeBytes} bytes; the blob has ${sizeBytes}.`;
      if (highest !== null && said.height > highest)
        return `It calls block ${said.height} final; the blob was mined in block ${highest}.`;
      const ours = await getBlockHash(client, said.height, { signal });
      if (ours === said.blockHash) return null;
      return `It names block ${said.blockHash} at height ${said.height}; the node has ${ours}.`;
    },
  });
}

/** The receipts that came, and of every other archive why there is none. */
export function printReceipts({ archives, isEnough }: CollectedReceipts, count: number, context: CliContext): void {
  for (const state of archives) {
    print(context, stateLine(state));
    if (state.outcome === 'receipt') for (const line of receiptLines(state.receipt)) print(context, `  ${line}`);
  }
  const came = archives.filter(({ outcome }) => outcome === 'receipt').length;
  print(
    context,
    isEnough
      ? `${came} receipts, as asked for.`
      : `NOT ENOUGH: ${came} receipts of ${count} came in time. The blob is submitted all the same. To ask again, add --keep-existing to this command while the node has the blob.`,
  );
}

const WORDS = {
  receipt: 'receipt',
  waiting: 'no receipt yet',
  refused: 'REFUSED',
  'same-archiver': 'no other archiver',
  lied: 'WRONG',
} as const satisfies Record<ArchiveReceipt['outcome'], string>;

function stateLine(state: ArchiveReceipt): string {
  const says = state.outcome === 'receipt' ? `key ${state.receipt.statement.key}` : state.says;
  return `${WORDS[state.outcome]}  ${state.archive}: ${says}`;
}

/** Reports whether the reader would take this address. */
function isArchiveAddress(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.search === '' && parsed.hash === '';
}

/** The message does not repeat the address, which may hold a password. */
function badAddress(): CliError {
  return usage('--archive takes the base address of an archive, http:// or https://, without query and fragment.');
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, {
    retryable: false,
    hint: 'Like --receipt 2 --archive https://one.example --archive https://two.example, and --key for each archiver.',
  });
}
