import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { parseBoundedJson } from '../../core/blob/bounded-json.ts';
import { clauseOf } from '../../core/blob/errors.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { HASH_TYPES, type NamedHash, parseNamedHash } from '../../core/blob/ids.ts';
import { createNodeHasher } from '../../hashing/index.ts';
import {
  type BlobHasher,
  hashWith,
  looksLikeAttestation,
  type OccurrenceRecord,
  parseOccurrenceRecord,
  reachesLevel,
  type StepOutcome,
  VerifyError,
  verifyBlob,
  verifyOccurrence,
} from '../../verify/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { CliError } from '../errors.ts';
import { judgedInJson, judgeProof } from '../judge-proof.ts';
import { askedProof, readRun } from '../proof-demand.ts';
import { again } from '../repeated-option.ts';
import type { VerbOptions } from '../verb-options.ts';
import { knownKeyIn, knownKeysIn, verifyAttestation } from '../verify-attestation.ts';
import { verifyBundle } from '../verify-bundle.ts';
import { receiptsIn, verifyReceipts } from '../verify-receipts.ts';

/** Far more than any blob or record has; what is larger is not read into memory to be refused. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Answer of `GET /v1/blobs/{version hash}/proof`. */
const severalRecords = z.object({ records: z.array(z.unknown()) });

/** Far more than any attestation has. */
const MAX_STATEMENT_BYTES = 1024 * 1024;

/** Flags about an attestation or a receipt. */
const ATTESTATION_FLAGS = ['key', 'other'] as const;
/** Flags about a proof. */
const PROOF_FLAGS = ['level', 'network', 'leastWork', 'headers', 'checkpoint'] as const;

interface Step extends Omit<StepOutcome, 'step'> {
  /** `claim`: the given version hash. `record`: the file of the record itself. */
  readonly step: StepOutcome['step'] | 'claim' | 'record';
}

export function define(command: Command): Command {
  return command
    .argument('<file>', 'the bytes, an attestation or a receipt')
    .option('--bundle', 'the file is a bundle: check every blob, every record, and that nothing is missing')
    .option(
      '--proof <record.json>',
      'an occurrence record, or what an archive answers to /v1/blobs/…/proof; its header is looked up at the configured node, if any',
    )
    .option('--hash <version hash>', '64 hex characters; 0x and the 66-character form are accepted')
    .option(
      '--level <level>',
      'what the proof must show: inclusion (in a header), work (that the header cost), chain (that the header is part of it); default inclusion, with --headers chain',
    )
    .option('--network <name>', 'whose rules the work is checked by: main, test or regtest; default main')
    .option('--least-work <hashes>', 'what making a header must cost, like 2^70; default: what the network states')
    .option('--headers <file>', 'block headers from a checkpoint on, one a line, in hex')
    .option('--checkpoint <height:hash>', 'the block that you trust, which --headers begin at or follow')
    .option(
      '--key <public key>',
      'of an attestation or a receipt: a key of the archiver that you know, 64 hex characters; of receipts several times',
      again,
    )
    .option('--other <file>', 'of an attestation or a receipt: another one of the same archiver; do the two agree?');
}

/** Exit code 0: all that was asked for holds. 1: it cannot be told now. 3: something is positively wrong. */
export async function handle(
  options: VerbOptions,
  context: CliContext,
  [file = '']: readonly string[],
): Promise<ExitCode> {
  const { proof, hash } = options.own;
  if (options.own['bundle'] === true) return await verifyBundle(file, options, context);
  const claim = typeof hash === 'string' ? parseNamedHash(hash) : null;
  const asked = askedProof(options.own);
  if (typeof proof !== 'string' && PROOF_FLAGS.some((flag) => options.own[flag] !== undefined)) throw withoutProof();
  const read = (path: string) => readWhole(resolve(context.cwd, path));
  const hasher = await createNodeHasher();
  const bytes = await read(file);
  const text = claim === null && typeof proof !== 'string' && bytes.length <= MAX_STATEMENT_BYTES ? utf8(bytes) : '';
  const receipts = receiptsIn(text);
  if (receipts !== null) {
    const asked = { knownKeys: knownKeysIn(options.own['key']), other: await readOther(options, read) };
    return await verifyReceipts(file, receipts, asked, { json: options.json, context });
  }
  if (looksLikeAttestation(text)) {
    const asked = { knownKey: knownKeyIn(options.own['key']), other: await readOther(options, read) };
    return await verifyAttestation(file, text, asked, { json: options.json, context });
  }
  if (ATTESTATION_FLAGS.some((flag) => options.own[flag] !== undefined)) throw noAttestation(file);
  if (claim === null && typeof proof !== 'string') throw nothingToCompare(file, bytes, hasher);

  const steps: Step[] = claim === null ? [] : [checkClaim(bytes, claim, hasher)];
  const record = typeof proof === 'string' ? await readRecord(resolve(context.cwd, proof), steps) : null;
  const verdict = record === null ? null : verifyOccurrence(bytes, record, { hasher });
  if (claim !== null && record !== null) steps.push(checkAgreement(claim, record));
  steps.push(...(verdict?.steps ?? []));
  const holds = steps.every(({ ok }) => ok);
  const run = await readRun(asked, read);
  const shown = record === null || !holds ? null : await judgeProof(record, asked, run, options, context);
  const says = verdict?.ok === true && shown?.isOnChain !== true ? verdict.says : null;
  const verified = shown === null ? holds : reachesLevel(shown.reached, asked.level);
  if (options.json) {
    // For a file without a proof, the bytes are all that is verified.
    const levels = proof === undefined ? { level: 'bytes' } : { level: asked.level, reached: shown?.reached ?? null };
    const evidence = shown === null ? { work: null, headers: null, chain: null } : judgedInJson(shown, asked);
    printJson(context, { file, sizeBytes: bytes.length, ...levels, verified, steps, included: says, ...evidence });
  } else {
    for (const { ok, says: sentence } of steps) print(context, `${ok ? 'ok    ' : 'WRONG '}  ${sentence}`);
    for (const { mark, says: sentence } of shown?.lines ?? []) print(context, `${mark}  ${sentence}`);
    if (says !== null && holds) print(context, says);
    if (shown !== null && verified) print(context, `Verified at the level ${asked.level}.`);
    else if (shown !== null && holds) print(context, `NOT verified at the level ${asked.level}.`);
  }
  if (!holds || shown?.isWrong === true) return EXIT.missing;
  return verified && shown?.isUnclear !== true ? EXIT.done : EXIT.failed;
}

/** null: none was given. */
async function readOther({ own }: VerbOptions, read: (path: string) => Promise<Uint8Array>): Promise<string | null> {
  return typeof own['other'] === 'string' ? utf8(await read(own['other'])) : null;
}

function utf8(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function noAttestation(file: string): CliError {
  return new CliError(
    'cli/usage',
    `--key and --other are of attestations and receipts, and ${file} is checked as none.`,
    {
      retryable: false,
      hint: 'Name a file with what /v1/attestation or /v1/receipts/… answers, without --proof.',
    },
  );
}

function withoutProof(): CliError {
  return new CliError('cli/usage', 'A level of proof was asked for, and no proof was given.', {
    retryable: false,
    hint: 'Give --proof <record.json>; --hash alone compares the bytes with their version hash.',
  });
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
    return parseBoundedJson(text);
  } catch {
    // Parsing it as a record reports the error.
    return null;
  }
}

async function readWhole(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_FILE_BYTES) return await readFile(path);
    throw new Error(`it has ${size} bytes`);
  } catch (cause) {
    throw new CliError('cli/file', `${path} cannot be read: ${clauseOf(cause)}.`, {
      details: { path },
      retryable: false,
      hint: `Name a file that you may read, of at most ${MAX_FILE_BYTES} bytes.`,
      cause,
    });
  }
}
