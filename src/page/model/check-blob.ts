import type { HashType, NamedHash, TxId } from '../../core/blob/ids.ts';
import {
  CHAIN_NAMES,
  CHAIN_PROFILES,
  decodeOccurrenceRecord,
  judgeWork,
  nobleHasher,
  type OccurrenceRecord,
  type ProofLevel,
  verifyBlob,
  verifyOccurrence,
  type WorkVerdict,
} from '../../verify/index.ts';
import { type ArchiveApi, Refused } from './archive-api.ts';
import { Fields } from './fields.ts';
import { type Found, pathOf } from './look-up.ts';
import { counted } from './words.ts';

/** `pending`: the check cannot succeed or fail yet. */
export type Outcome = 'verified' | 'not-verified' | 'pending';

export interface CheckStep {
  readonly outcome: Outcome;
  readonly title: string;
  readonly says: string;
  /** Level that a valid proof reaches. */
  readonly level?: ProofLevel;
}

export interface CheckedBlob {
  /** The worst outcome of all steps. */
  readonly outcome: Outcome;
  readonly steps: readonly CheckStep[];
  /**
   * Lowest level that every proof reaches; null when some proof reaches none. `work` requires the work of a main
   * network header. The page never reaches `chain`, because it has neither a node nor headers.
   */
  readonly level: ProofLevel | null;
  /** Bytes that hash to the requested name; null when the archive gave none. The page never offers other bytes. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
  readonly hashType: HashType | null;
}

/** Fetches bytes and proofs and verifies both in the browser, without trust in the archive. */
export async function checkBlob(found: Found, api: ArchiveApi, signal: AbortSignal): Promise<CheckedBlob> {
  const path = `v1/blobs/${pathOf(found.name)}`;
  const fetched = await attempt(() => api.bytes(path, { signal }));
  if (fetched.kind === 'refused') return refusedBlob('Bytes', fetched.refused);
  const bytes = fetched.value;
  const hashed = checkBytes(found.name, bytes);
  if (hashed.hashType === null) return worst([hashed.step], null, null);
  const proofs = await attempt(() => api.json(`${path}/proof`, { signal }));
  const content = { hashType: hashed.hashType, versionHash: found.name.versionHash };
  const inclusion =
    proofs.kind === 'refused'
      ? [stepOfRefusal('Inclusion', proofs.refused)]
      : checkProofs({ ...found, name: content }, bytes, proofs.value);
  return worst([hashed.step, ...inclusion], bytes, hashed.hashType);
}

function checkBytes(name: NamedHash, bytes: Uint8Array): { step: CheckStep; hashType: HashType | null } {
  const verified = verifyBlob({ ...name, bytes }, nobleHasher);
  if (verified !== null) {
    const says = `${counted(bytes.length, 'byte')}, hashed in this browser: their ${verified.hashType} is the version hash.`;
    return { step: { outcome: 'verified', title: 'Bytes', says }, hashType: verified.hashType };
  }
  const says = `The ${counted(bytes.length, 'byte')} from the archive do not hash to the version hash. The page does not offer them.`;
  return { step: { outcome: 'not-verified', title: 'Bytes', says }, hashType: null };
}

/** Occurrences of a blob that an archive has records of. */
const MAX_PROOFS = 16;

interface ProofTarget {
  readonly name: { readonly hashType: HashType; readonly versionHash: string };
  readonly txid: TxId | null;
  readonly record: Found['record'];
}

/** Returns one step for each proof, and one for each final occurrence without a proof. */
function checkProofs({ name, txid, record }: ProofTarget, bytes: Uint8Array, answer: unknown): CheckStep[] {
  let records: OccurrenceRecord[];
  try {
    records = Fields.of(answer, 'proof').list('records', decodeOccurrenceRecord);
  } catch (error) {
    return [notVerified('Inclusion', error instanceof Error ? error.message : String(error))];
  }
  const steps = records.map((proof): CheckStep => {
    if (proof.hashType !== name.hashType || proof.versionHash !== name.versionHash) {
      return notVerified(
        'Inclusion',
        `The archive gave a proof of another blob, ${proof.hashType} ${proof.versionHash}.`,
      );
    }
    return checkProof(bytes, proof);
  });
  const proven = new Set<string>(records.map((one) => one.txid));
  if (txid !== null && !proven.has(txid)) steps.push(withoutProof(txid, record, proven.size));
  const unproven = finalTransactions(record).filter((one) => one !== txid && !proven.has(one));
  if (unproven.length > 0) {
    const says = `The archive calls ${counted(unproven.length, 'more occurrence')} final, and gave no proof of ${unproven.length === 1 ? 'it' : 'them'}.`;
    steps.push(notVerified('Inclusion', says));
  }
  if (steps.length === 0) steps.push(notVerified('Inclusion', 'The archive gave no proof at all.'));
  return steps;
}

function checkProof(bytes: Uint8Array, proof: OccurrenceRecord): CheckStep {
  const title = `Inclusion in block ${proof.height}`;
  const verdict = verifyOccurrence(bytes, proof);
  if (!verdict.ok) return notVerified(title, verdict.says);
  const { work, isMain } = judgeOnAnyNetwork(proof);
  // A header without its merge-mining data shows no work, but it is not invalid either.
  if (work.kind === 'refused' && work.code !== 'verify/merge-mining-missing') return notVerified(title, work.says);
  const level = isMain && work.kind === 'enough' ? 'work' : 'inclusion';
  return { outcome: 'verified', title, says: `${verdict.says} ${work.says}`, level };
}

/**
 * Judges the header by the rules of the first network that accepts it, or else of the main network. The archive's own
 * claim about its network is ignored. Work on a test network is shown but does not count.
 */
function judgeOnAnyNetwork(proof: OccurrenceRecord): { work: WorkVerdict; isMain: boolean } {
  for (const name of CHAIN_NAMES) {
    const work = judgeWork(proof, { profile: CHAIN_PROFILES[name] });
    if (work.kind === 'enough' || work.kind === 'unbound') return { work, isMain: name === 'main' };
  }
  return { work: judgeWork(proof), isMain: true };
}

/**
 * An archive proves final occurrences alone, and the first sixteen of them. What it says of another transaction cannot be
 * checked, so that the look-up is pending at best.
 */
function withoutProof(txid: TxId, record: Found['record'], proven: number): CheckStep {
  const says = `The archive gave no proof of the transaction ${txid}`;
  const listed = record?.occurrences.find((one) => one.txid === txid);
  if (listed?.state === 'mined' || listed?.state === 'unconfirmed') {
    return { outcome: 'pending', title: 'Inclusion', says: `${says}, which it does not call final yet.` };
  }
  if (listed === undefined && proven >= MAX_PROOFS && record?.hasMoreOccurrences === true) {
    const only = `An archive proves the first ${MAX_PROOFS} occurrences of a blob, and this one has more.`;
    return { outcome: 'pending', title: 'Inclusion', says: `${says}. ${only}` };
  }
  return notVerified('Inclusion', `${says}.`);
}

/** An archive keeps occurrence records of the first sixteen occurrences, which are those of the first page. */
function finalTransactions(record: Found['record']): string[] {
  return (record?.occurrences ?? []).filter(({ state }) => state === 'final').map((one) => one.txid);
}

type Attempt<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'refused'; readonly refused: Refused };

async function attempt<T>(ask: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { kind: 'value', value: await ask() };
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    return { kind: 'refused', refused: error };
  }
}

function refusedBlob(title: string, refused: Refused): CheckedBlob {
  return worst([stepOfRefusal(title, refused)], null, null);
}

/**
 * Maps an error status to a step. A 503 asks for a retry and is no evidence against the blob; any other status is a no.
 */
function stepOfRefusal(title: string, { status, message, hint }: Refused): CheckStep {
  // The hint of such an answer tells programs to retry; a person reads the message only.
  if (status === 503 || status === 429) return { outcome: 'pending', title, says: message };
  return notVerified(title, `${message} ${hint}`.trim());
}

function notVerified(title: string, says: string): CheckStep {
  return { outcome: 'not-verified', title, says };
}

function worst(steps: CheckStep[], bytes: Uint8Array<ArrayBuffer> | null, hashType: HashType | null): CheckedBlob {
  const outcomes = steps.map(({ outcome }) => outcome);
  const outcome = (['not-verified', 'pending'] as const).find((one) => outcomes.includes(one)) ?? 'verified';
  const levels = steps.flatMap(({ level }) => level ?? []);
  const level =
    outcome !== 'verified' || levels.length === 0 ? null : levels.includes('inclusion') ? 'inclusion' : 'work';
  return { outcome, steps, level, bytes, hashType };
}
