import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { messageOf } from '../../blob/errors.ts';
import { encodeHex } from '../../blob/hex.ts';
import { HASH_TYPES, type NamedHash, parseNamedHash } from '../../blob/ids.ts';
import { createNodeHasher } from '../../hashing/index.ts';
import {
  type BlobHasher,
  type ChainVerdict,
  checkHeaderOnChain,
  hashWith,
  type OccurrenceRecord,
  parseOccurrenceRecord,
  type StepOutcome,
  VerifyError,
  verifyBlob,
  verifyOccurrence,
} from '../../verify/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { configuredNode } from '../configured-node.ts';
import { CliError } from '../errors.ts';
import { headerLookup } from '../header-lookup.ts';
import { type VerbOptions, verb } from '../verb-options.ts';

/** Far more than any blob or record has; what is larger is not read into memory to be refused. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** What `GET /v1/blobs/{version hash}/proof` answers. */
const severalRecords = z.object({ records: z.array(z.unknown()) });

interface Step extends Omit<StepOutcome, 'step'> {
  /** `claim`: the given version hash. `record`: the file of the record itself. */
  readonly step: StepOutcome['step'] | 'claim' | 'record';
}

export function verifyCommand(): Command {
  return verb('verify', 'Check a file against a version hash or an occurrence record: offline, without any archive.')
    .argument('<file>', 'the bytes')
    .option(
      '--proof <record.json>',
      'an occurrence record, or what an archive answers to /v1/blobs/…/proof; its header is looked up at the configured node, if any',
    )
    .option('--hash <version hash>', '64 hex characters; 0x and the 66-character form are accepted');
}

/** Exit code 0: all holds. 1: the configured node could not tell. 3: something is positively wrong. */
export async function verifyFile(file: string, options: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { proof, hash } = options.own;
  const claim = typeof hash === 'string' ? parseNamedHash(hash) : null;
  const hasher = await createNodeHasher();
  const bytes = await readWhole(resolve(context.cwd, file));
  if (claim === null && typeof proof !== 'string') throw nothingToCompare(file, bytes, hasher);

  const steps: Step[] = claim === null ? [] : [checkClaim(bytes, claim, hasher)];
  const record = typeof proof === 'string' ? await readRecord(resolve(context.cwd, proof), steps) : null;
  const verdict = record === null ? null : verifyOccurrence(bytes, record, { hasher });
  if (claim !== null && record !== null) steps.push(checkAgreement(claim, record));
  steps.push(...(verdict?.steps ?? []));
  const holds = steps.every(({ ok }) => ok);
  const chain = holds && record !== null ? await askNode(record, options, context) : null;

  const says = verdict?.ok === true && chain?.kind !== 'on-chain' ? verdict.says : null;
  if (options.json) {
    printJson(context, { file, sizeBytes: bytes.length, verified: holds, steps, included: says, chain });
  } else {
    for (const { ok, says: sentence } of steps) print(context, `${ok ? 'ok    ' : 'WRONG '}  ${sentence}`);
    if (chain !== null) print(context, `${MARKS[chain.kind]}  ${chain.says}`);
    if (says !== null && holds) print(context, says);
  }
  if (!holds || chain?.kind === 'not-on-chain') return EXIT.missing;
  return chain?.kind === 'cannot-tell' ? EXIT.failed : EXIT.done;
}

const MARKS: Readonly<Record<ChainVerdict['kind'], string>> = {
  'on-chain': 'ok    ',
  'not-on-chain': 'WRONG ',
  'cannot-tell': '?     ',
};

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

function checkClaim(bytes: Uint8Array, claim: NamedHash, hasher: BlobHasher): Step {
  const verified = verifyBlob({ ...claim, bytes }, hasher);
  if (verified !== null) {
    const says = `The ${bytes.length} bytes hash (${verified.hashType}) to ${claim.versionHash}.`;
    return { step: 'claim', ok: true, says };
  }
  const tried = claim.hashType === null ? HASH_TYPES.join(' and ') : claim.hashType;
  return { step: 'claim', ok: false, says: `The bytes do not hash (${tried}) to ${claim.versionHash}.` };
}

/** The record must be of what was asked for. */
function checkAgreement(claim: NamedHash, record: OccurrenceRecord): Step {
  const sameType = claim.hashType === null || claim.hashType === record.hashType;
  const ok = sameType && claim.versionHash === record.versionHash;
  return { step: 'claim', ok, says: `The record is of ${record.hashType} ${record.versionHash}.` };
}

function nothingToCompare(file: string, bytes: Uint8Array, hasher: BlobHasher): CliError {
  const hashes = HASH_TYPES.map((hashType) => `${hashType} ${encodeHex(hashWith(hasher, hashType, bytes))}`);
  return new CliError('cli/usage', `${file} was compared with nothing. Its bytes hash to ${hashes.join(', ')}.`, {
    retryable: false,
    hint: 'Give --hash, --proof, or both.',
  });
}

/** null: it is none; a failed step says why. */
async function readRecord(path: string, steps: Step[]): Promise<OccurrenceRecord | null> {
  const text = new TextDecoder().decode(await readWhole(path));
  try {
    return parseOccurrenceRecord(recordIn(text, steps));
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error;
    steps.push({ step: 'record', ok: false, says: error.message });
    return null;
  }
}

/** The text of one record; of the first of several, as an archive answers them to `/proof`. */
function recordIn(text: string, steps: Step[]): string {
  const answered = severalRecords.safeParse(jsonIn(text)).data;
  if (answered === undefined) return text;
  const [first] = answered.records;
  const says = `The file holds ${answered.records.length} occurrence records${first === undefined ? '.' : '; the first is checked.'}`;
  if (answered.records.length !== 1) steps.push({ step: 'record', ok: first !== undefined, says });
  return JSON.stringify(first ?? null);
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whoever parses it as a record says what is wrong with it.
    return null;
  }
}

async function readWhole(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_FILE_BYTES) return await readFile(path);
    throw new Error(`it has ${size} bytes`);
  } catch (cause) {
    throw new CliError('cli/file', `${path} cannot be read: ${messageOf(cause)}.`, {
      details: { path },
      retryable: false,
      hint: `Name a file that you may read, of at most ${MAX_FILE_BYTES} bytes.`,
      cause,
    });
  }
}
