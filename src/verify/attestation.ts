import { decodeHex } from '../core/blob/hex.ts';
import { type BlockHash, parseBlockHash } from '../core/blob/ids.ts';
import { HOLDINGS, type HoldingCounts } from './inventory.ts';
import { KEY_BYTES, looksLikeSigned, parseSigned, type SignedByKey } from './signed-statement.ts';
import { countOf, exactly, fieldsOf, formatOf, heightIn, hex, refused, time, word } from './statement-fields.ts';

/** An archiver's statement about its holdings of the final occurrences in a range of heights. */
export interface AttestationStatement {
  readonly kind: 'holdfast/attestation';
  readonly format: 1;
  /** Archiver id, as below `audit/` on its backends. */
  readonly archiver: string;
  /** The public key, 32 bytes in hex. */
  readonly key: string;
  /** Statements of an archiver are numbered; no number is given twice, one may be left out. */
  readonly number: number;
  /** The genesis block. */
  readonly chain: BlockHash;
  readonly from: number;
  readonly to: number;
  /** The block at `to`. */
  readonly blockHash: BlockHash;
  /** The digest of the inventory (`inventory.ts`): a Merkle root over every occurrence and what is held of it. */
  readonly root: string;
  readonly counts: HoldingCounts;
  /** Transactions at these heights that seem to carry an undecidable blob: counted in no other number. */
  readonly unclear: number;
  /** When it was counted. */
  readonly at: string;
}

export type Attestation = SignedByKey<AttestationStatement>;

/** RFC 8785, for documents of objects, arrays, texts and whole numbers. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonicalJson(one)}`).join(',')}}`;
}

/** Reports whether a text looks like an attestation; `parseAttestation` names its faults. */
export function looksLikeAttestation(text: string): boolean {
  return looksLikeSigned('attestation', text);
}

/** @throws VerifyError `verify/attestation` */
export function parseAttestation(json: string): Attestation {
  return parseSigned('attestation', json, statementOf);
}

export interface AttestationStep {
  readonly step: 'signature' | 'keys' | 'key';
  readonly ok: boolean;
  readonly says: string;
}

/**
 * Checks the signatures, and that they lead from a key that the caller knows to the one that signed; without a known key
 * nothing says whose statement it is. Rejects where this engine has no Ed25519.
 */
export async function checkAttestation(attestation: SignedByKey, knownKey: string | null): Promise<AttestationStep[]> {
  const { statement, signature, keys } = attestation;
  const isSigned = await isSignedBy(statement.key, statement, signature);
  const steps: AttestationStep[] = [
    {
      step: 'signature',
      ok: isSigned,
      says: isSigned
        ? `The statement is signed by the key ${statement.key}.`
        : `The statement is not signed by the key ${statement.key} that it names.`,
    },
  ];
  if (keys.length > 0) {
    const broken = await brokenLink(keys, statement.key);
    const says =
      broken === null
        ? `Each of its ${keys.length} earlier keys signed the one that follows it, which signed that it does.`
        : `The key ${broken} and the one that is to follow it did not both sign that.`;
    steps.push({ step: 'keys', ok: broken === null, says });
  }
  if (knownKey === null) return steps;
  const isKnown = keysOf(attestation).includes(knownKey);
  const says = isKnown ? `It is of the archiver with the key ${knownKey}.` : `The key ${knownKey} is none of its keys.`;
  return [...steps, { step: 'key', ok: isKnown, says }];
}

export type EquivocationKind = 'same-number' | 'other-block' | 'other-occurrences' | 'root-against-counts';

export interface Equivocation {
  readonly kind: EquivocationKind;
  readonly says: string;
}

/**
 * Finds a contradiction between two attestations of one archiver, so that not both were true when they were signed. The
 * signatures of both must have been checked. Returns null without one.
 * Holdings may change: missing or lost content is stored later, stored content is withheld or damaged. The chain below
 * a final block may not change, nor its number of occurrences. One number belongs to one statement, and one root has
 * one set of counts.
 */
export function equivocationOf(one: Attestation, other: Attestation): Equivocation | null {
  const [a, b] = [one.statement, other.statement];
  const isOfOne = keysOf(one).includes(b.key) || keysOf(other).includes(a.key);
  if (!isOfOne || canonicalJson(a) === canonicalJson(b)) return null;
  if (a.number === b.number)
    return { kind: 'same-number', says: `It signed two statements with the number ${a.number}.` };
  if (a.chain !== b.chain) return null;
  if (a.to === b.to && a.blockHash !== b.blockHash)
    return {
      kind: 'other-block',
      says: `It named two blocks at height ${a.to} as final: ${a.blockHash} and ${b.blockHash}.`,
    };
  if (a.from !== b.from || a.to !== b.to) return null;
  if (totalOf(a) !== totalOf(b) || a.unclear !== b.unclear)
    return {
      kind: 'other-occurrences',
      says: `It counted ${countsInWords(a)} and ${countsInWords(b)} at the same final heights ${a.from} to ${a.to}.`,
    };
  const isSame = HOLDINGS.every((holding) => a.counts[holding] === b.counts[holding]);
  if (a.root === b.root && !isSame)
    return { kind: 'root-against-counts', says: 'It gave one root of the inventory with two sets of counts.' };
  return null;
}

/** Keys of an archiver that the statement names, the oldest first. */
export function keysOf({ statement, keys }: Pick<SignedByKey, 'statement' | 'keys'>): string[] {
  return [...keys.map((link) => link.statement.key), statement.key];
}

function countsInWords(statement: AttestationStatement): string {
  return `${totalOf(statement)} occurrences (${statement.unclear} unclear)`;
}

function totalOf({ counts }: AttestationStatement): number {
  return HOLDINGS.reduce((sum, holding) => sum + counts[holding], 0);
}

/** The first key of which it and its successor did not both sign the succession; null: all did. */
async function brokenLink(keys: Attestation['keys'], last: string): Promise<string | null> {
  for (const [index, { statement, signature, accepted }] of keys.entries()) {
    const next = keys[index + 1]?.statement.key ?? last;
    const isSigned = await isSignedBy(statement.key, statement, signature);
    if (statement.next !== next || !isSigned || !(await isSignedBy(next, statement, accepted))) return statement.key;
  }
  return null;
}

async function isSignedBy(key: string, statement: object, signature: string): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('raw', owned(decodeHex(key)), { name: 'Ed25519' }, false, ['verify']);
  const bytes = new TextEncoder().encode(canonicalJson(statement));
  return await subtle.verify({ name: 'Ed25519' }, imported, owned(decodeHex(signature)), bytes);
}

/** In memory of its own, as Web Crypto wants it. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

function statementOf(value: unknown): AttestationStatement {
  const fields = exactly(fieldsOf(value), STATEMENT_FIELDS);
  const { from: lowest, to: highest } = Object.fromEntries(fields);
  const [from, to] = [heightIn(lowest), heightIn(highest)];
  if (from > to) throw refused('its range ends before it begins');
  return {
    kind: word(fields, 'kind', 'holdfast/attestation'),
    format: formatOf(fields),
    archiver: hex(fields, 'archiver', 8),
    key: hex(fields, 'key', KEY_BYTES),
    number: countOf(fields, 'number'),
    chain: parseBlockHash(hex(fields, 'chain', 32)),
    from,
    to,
    blockHash: parseBlockHash(hex(fields, 'blockHash', 32)),
    root: hex(fields, 'root', 32),
    counts: countsOf(fields.get('counts')),
    unclear: countOf(fields, 'unclear'),
    at: time(fields),
  };
}

const STATEMENT_FIELDS = 'kind format archiver key number chain from to blockHash root counts unclear at'.split(' ');

function countsOf(value: unknown): HoldingCounts {
  const fields = exactly(fieldsOf(value), HOLDINGS);
  const count = (holding: string) => countOf(fields, holding);
  return {
    missing: count('missing'),
    stored: count('stored'),
    lost: count('lost'),
    withheld: count('withheld'),
    custom: count('custom'),
    'not-archived-by-rule': count('not-archived-by-rule'),
  };
}
