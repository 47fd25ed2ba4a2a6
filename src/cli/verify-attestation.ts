import {
  type Attestation,
  checkAttestation,
  type Equivocation,
  equivocationOf,
  parseAttestation,
  VerifyError,
} from '../verify/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from './cli-context.ts';
import { CliError } from './errors.ts';
import { givenWords } from './repeated-option.ts';

export interface AskedAttestation {
  /** A public key of the archiver that the caller knows; null: none. */
  readonly knownKey: string | null;
  /** Another attestation to compare with. */
  readonly other: string | null;
}

interface Step {
  readonly step: string;
  readonly ok: boolean;
  readonly says: string;
}

/** Reads an option that takes one key. @throws CliError `cli/usage` */
export function knownKeyIn(given: string | boolean | undefined): string | null {
  const [key = null, ...more] = knownKeysIn(given);
  if (more.length === 0) return key;
  throw new CliError('cli/usage', 'An attestation has one archiver: --key was given several times.', {
    retryable: false,
    hint: 'Give it once. Receipts, of several archivers, take several.',
  });
}

/** Reads an option that takes several keys. @throws CliError `cli/usage` */
export function knownKeysIn(given: string | boolean | undefined): string[] {
  if (given === undefined) return [];
  const keys = givenWords(given);
  if (keys.every((key) => /^[0-9a-f]{64}$/i.test(key))) return keys.map((key) => key.toLowerCase());
  throw new CliError('cli/usage', '--key takes the public key of an archiver.', {
    retryable: false,
    hint: 'It has 64 hex characters; take it from the operator, not from the attestation.',
  });
}

/**
 * Exit code 0: the key that the caller knows signed it. 1: the signature holds, and no expected key was given. 3: a
 * signature does not hold, another key made it, or the two attestations contradict each other.
 */
export async function verifyAttestation(
  file: string,
  text: string,
  { knownKey, other }: AskedAttestation,
  { json, context }: { readonly json: boolean; readonly context: CliContext },
): Promise<ExitCode> {
  const [attestation, steps] = await checked(text, knownKey);
  const [second, otherSteps] = other === null ? [null, []] : await checked(other, knownKey);
  steps.push(...otherSteps.map((one) => ({ ...one, says: `The other: ${one.says}` })));
  const holds = steps.every(({ ok }) => ok);
  const equivocation: Equivocation | null =
    holds && attestation !== null && second !== null ? equivocationOf(attestation, second) : null;
  const verified = holds && knownKey !== null && equivocation === null;
  if (json) {
    printJson(context, { file, level: 'signature', verified, steps, equivocation, attestation });
  } else {
    for (const { ok, says } of steps) print(context, `${ok ? 'ok    ' : 'WRONG '}  ${says}`);
    if (equivocation !== null) print(context, `WRONG   The two contradict each other. ${equivocation.says}`);
    if (holds && knownKey === null) print(context, '?       Whose key that is, nothing here says: give --key.');
    if (holds && attestation !== null) for (const line of attestationLines(attestation)) print(context, line);
  }
  if (!holds || equivocation !== null) return EXIT.missing;
  return verified ? EXIT.done : EXIT.failed;
}

async function checked(text: string, knownKey: string | null): Promise<[Attestation | null, Step[]]> {
  try {
    const attestation = parseAttestation(text);
    return [attestation, [...(await checkAttestation(attestation, knownKey))]];
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error;
    return [null, [{ step: 'attestation', ok: false, says: error.message }]];
  }
}

/** The statement for people: its signer's word, not a proof. */
export function attestationLines({ statement }: Attestation): string[] {
  const { archiver, key, number, chain, from, to, blockHash, root, counts, unclear, at } = statement;
  return [
    `statement ${number} of the archiver ${archiver}, made ${at}`,
    `chain ${chain}, heights ${from} to ${to}, block ${blockHash}`,
    `${counts.stored} occurrences stored, ${counts.missing} missing, ${counts.custom} custom, ${counts.withheld} withheld, ${counts.lost} lost, ${counts['not-archived-by-rule']} not archived by rule; ${unclear} transactions unclear`,
    `inventory ${root}`,
    `key ${key}`,
  ];
}
