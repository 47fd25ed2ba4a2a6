import {
  CHAIN_NAMES,
  CHAIN_PROFILES,
  type ChainProfile,
  type Checkpoint,
  checkHeaderRun,
  type HeaderRun,
  PROOF_LEVELS,
  type ProofLevel,
  parseCheckpoint,
  parseHeaderLines,
  VerifyError,
} from '../verify/index.ts';
import { CliError } from './errors.ts';
import type { VerbOptions } from './verb-options.ts';

/** Demands on a proof from the flags of `verify`. */
export interface AskedProof {
  readonly level: ProofLevel;
  readonly profile: ChainProfile;
  readonly leastWork: bigint;
  readonly headers: { readonly file: string; readonly checkpoint: Checkpoint } | null;
}

/** A run that was read and holds, or why it does not. */
export type AskedRun =
  | { readonly kind: 'run'; readonly run: HeaderRun }
  | { readonly kind: 'refused'; readonly code: string; readonly says: string };

/** @throws CliError `cli/usage` */
export function askedProof({ level, network, leastWork, headers, checkpoint }: VerbOptions['own']): AskedProof {
  const profile = CHAIN_PROFILES[oneOf('--network', CHAIN_NAMES, network) ?? 'main'];
  const asked = oneOf('--level', PROOF_LEVELS, level);
  const least = typeof leastWork === 'string' ? workIn(leastWork) : profile.leastWork;
  if (typeof headers !== 'string') {
    if (checkpoint !== undefined) throw usage('--checkpoint says where --headers begin, and there are none.');
    return { level: asked ?? 'inclusion', profile, leastWork: least, headers: null };
  }
  if (typeof checkpoint !== 'string') {
    throw usage('A run of headers shows nothing without a block that you trust before it: give --checkpoint.');
  }
  const run = { file: headers, checkpoint: checkpointIn(checkpoint) };
  return { level: asked ?? 'chain', profile, leastWork: least, headers: run };
}

/** Checks the headers of a file. Throws only when the file cannot be read. */
export async function readRun(
  { profile, leastWork, headers }: AskedProof,
  read: (file: string) => Promise<Uint8Array>,
): Promise<AskedRun | null> {
  if (headers === null) return null;
  const text = new TextDecoder().decode(await read(headers.file));
  try {
    const { checkpoint } = headers;
    return { kind: 'run', run: checkHeaderRun(parseHeaderLines(text), { checkpoint, profile, leastWork }) };
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error;
    return { kind: 'refused', code: error.code, says: error.message };
  }
}

function oneOf<T extends string>(flag: string, names: readonly T[], given: string | boolean | undefined): T | null {
  if (given === undefined) return null;
  const found = names.find((name) => name === given);
  if (found !== undefined) return found;
  throw usage(`${flag} takes ${names.join(', ')}; "${given}" is none of them.`);
}

/** A number of hashes: in digits, or as a power of two like `2^70`. */
function workIn(text: string): bigint {
  const [, power, digits] = /^(?:2\^(\d{1,3})|(\d{1,78}))$/.exec(text) ?? [];
  const work = power === undefined ? BigInt(digits ?? 0) : 2n ** BigInt(power);
  if (work > 0n && work <= 2n ** 256n) return work;
  throw usage(`--least-work takes a number of hashes, like 2^70; "${text}" is none.`);
}

function checkpointIn(text: string): Checkpoint {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    if (error instanceof VerifyError) throw usage(error.message);
    throw error;
  }
}

function usage(message: string): CliError {
  return new CliError('cli/usage', message, { retryable: false, hint: 'See `holdfast verify --help`.' });
}
