import { isLeftOutPath, leftOutPath, parseLeftOutDocument } from '../catalog/left-out-document.ts';
import { isLossPath, lossFolder, parseLossDocument } from '../catalog/loss-document.ts';
import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import { type Attestation, checkAttestation, equivocationOf, parseAttestation } from '../verify/attestation.ts';

/** The archiver that the evidence is to belong to. */
export interface EvidenceOwner {
  readonly archiverId: string;
  /** Every key that this archiver has signed with, as far as its key file tells. */
  readonly keys: readonly string[];
}

const ATTESTATION = /^attestations\/(?:whole\/(?<month>\d{4}-\d\d)|ranges\/(?<range>\d+-\d+))\/(?<number>\d+)\.json$/;
const EQUIVOCATION = /^equivocations\/(?<key>[0-9a-f]{64})\.json$/;

/**
 * The reason why a document below `audit/<archiver id>/` is not taken for evidence of this archiver; null: nothing speaks
 * against it. A statement must be signed by a key of this archiver, and an accusation by the key that it accuses.
 * A document must also be what its path says, for it is looked up by its path. A loss, an audit and an outage are this
 * archiver's own word and nothing proves them; they are read from nowhere but its own data folder.
 */
export async function whyNotOwn(path: string, document: string, owner: EvidenceOwner): Promise<string | null> {
  try {
    const value = parseBoundedJson(document);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'it is no JSON object';
    if (path.startsWith('attestations/')) return await whyNoAttestation(path, value, owner);
    if (path.startsWith('equivocations/')) return await whyNoEquivocation(path, value);
    if (isLeftOutPath(path)) return whyNotLeftOut(path, document);
    return isLossPath(path) ? whyNoLoss(path, document) : null;
  } catch (error) {
    if (error instanceof HoldfastError || error instanceof SyntaxError || error instanceof RangeError)
      return messageOf(error);
    throw error;
  }
}

async function whyNoAttestation(path: string, value: object, { archiverId, keys }: EvidenceOwner) {
  const attestation = parseAttestation(JSON.stringify(value));
  const { statement } = attestation;
  const unsigned = await whyUnsigned(attestation);
  if (unsigned !== null) return unsigned;
  if (!keys.includes(statement.key)) return `the key ${statement.key}, which signed it, is none of this archiver`;
  if (statement.archiver !== archiverId) return `it is a statement of the archiver ${statement.archiver}`;
  const { month, range, number } = ATTESTATION.exec(path)?.groups ?? {};
  const isOfItsPath =
    number !== undefined &&
    Number(number) === statement.number &&
    (month ?? statement.at.slice(0, 7)) === statement.at.slice(0, 7) &&
    (range ?? `${statement.from}-${statement.to}`) === `${statement.from}-${statement.to}`;
  return isOfItsPath ? null : 'it is another statement than its path says';
}

async function whyNoEquivocation(path: string, value: object): Promise<string | null> {
  const [one, other] = ['one', 'other'].map((name) => {
    return parseAttestation(JSON.stringify(new Map(Object.entries(value)).get(name) ?? null));
  });
  if (one === undefined || other === undefined) return 'it does not hold two statements';
  const unsigned = (await whyUnsigned(one)) ?? (await whyUnsigned(other));
  if (unsigned !== null) return unsigned;
  if (EQUIVOCATION.exec(path)?.groups?.['key'] !== one.statement.key)
    return 'it accuses another key than its path says';
  return equivocationOf(one, other) === null ? 'its two statements do not contradict each other' : null;
}

async function whyUnsigned(attestation: Attestation): Promise<string | null> {
  return (await checkAttestation(attestation, null)).find(({ ok }) => !ok)?.says ?? null;
}

/** A document that this version cannot read makes nothing lost, and is kept as it is. */
function whyNoLoss(path: string, document: string): string | null {
  const loss = parseLossDocument(document);
  if (loss === null || path.startsWith(`${lossFolder(loss)}/`)) return null;
  return 'it speaks of other content than its path says';
}

/** Nothing is known of what it names when this version cannot read it, and those blobs are no losses. */
function whyNotLeftOut(path: string, document: string): string | null {
  const leftOut = parseLeftOutDocument(document);
  if (leftOut === null) return 'it does not say in a way that this version can read which blobs a rule left out';
  return leftOutPath(leftOut.from) === path ? null : 'it speaks of other blocks than its path says';
}
