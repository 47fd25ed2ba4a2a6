import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { decodeStatement, exactly, fieldsOf, formatOf, hex, refused, time, word } from './statement-fields.ts';

/**
 * A signed statement of an archiver. What is signed, with Ed25519, is the UTF-8 of the statement in the form of RFC 8785:
 * members in the order of their names, no white space.
 */
export interface Signed<Statement> {
  readonly statement: Statement;
  /** 64 bytes in hex. */
  readonly signature: string;
}

/** A key gives its place to the next one; signed by both. */
export interface SuccessionStatement {
  readonly kind: 'holdfast/key';
  readonly format: 1;
  readonly key: string;
  readonly next: string;
  readonly at: string;
}

/**
 * Signed by the old key and the new one. A stranger could otherwise name another archiver's key as successor. The
 * stranger's statements would then count as that archiver's.
 */
export interface Succession extends Signed<SuccessionStatement> {
  /** Signature of the new key: 64 bytes in hex. */
  readonly accepted: string;
}

/** Something that an archiver signed, with how its key came from earlier ones. */
export interface SignedByKey<Statement extends { readonly key: string } = { readonly key: string }>
  extends Signed<Statement> {
  /** From the oldest key on that is still told to the one that signed; empty where there was one key only. */
  readonly keys: readonly Succession[];
}

/** Keys that an attestation tells of at most: the latest. */
export const MAX_SUCCESSIONS = 64;
/** Length of an Ed25519 public key. */
export const KEY_BYTES = 32;
/** Length of an Ed25519 signature. */
export const SIGNATURE_BYTES = 64;

/** The kinds of statement that a file may hold, as errors name them. */
type SignedKind = 'attestation' | 'receipt';

/** Reports whether a text is meant to be a statement of this kind. `parseSigned` names its faults. */
export function looksLikeSigned(kind: SignedKind, text: string): boolean {
  try {
    return fieldsOf(fieldsOf(parseBoundedJson(text)).get('statement')).get('kind') === `holdfast/${kind}`;
  } catch {
    return false;
  }
}

/**
 * Decodes a signed statement; `statementOf` decodes what is signed.
 * @throws VerifyError `verify/attestation`, `verify/receipt`
 */
export function parseSigned<Statement extends { readonly key: string }>(
  kind: SignedKind,
  json: string,
  statementOf: (value: unknown) => Statement,
): SignedByKey<Statement> {
  return decodeStatement(kind, json, (value) => {
    const fields = exactly(fieldsOf(value), ['statement', 'signature', 'keys']);
    return {
      statement: statementOf(fields.get('statement')),
      signature: hex(fields, 'signature', SIGNATURE_BYTES),
      keys: successionsIn(fields.get('keys')),
    };
  });
}

function successionsIn(keys: unknown): Succession[] {
  if (!Array.isArray(keys) || keys.length > MAX_SUCCESSIONS)
    throw refused(`keys is no list of at most ${MAX_SUCCESSIONS}`);
  return keys.map((one: unknown) => {
    const signed = exactly(fieldsOf(one), ['statement', 'signature', 'accepted']);
    return {
      statement: successionOf(signed.get('statement')),
      signature: hex(signed, 'signature', SIGNATURE_BYTES),
      accepted: hex(signed, 'accepted', SIGNATURE_BYTES),
    };
  });
}

function successionOf(value: unknown): SuccessionStatement {
  const fields = exactly(fieldsOf(value), ['kind', 'format', 'key', 'next', 'at']);
  return {
    kind: word(fields, 'kind', 'holdfast/key'),
    format: formatOf(fields),
    key: hex(fields, 'key', KEY_BYTES),
    next: hex(fields, 'next', KEY_BYTES),
    at: time(fields),
  };
}
