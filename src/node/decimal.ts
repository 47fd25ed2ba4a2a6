import { invalidArgument } from './errors.ts';

declare const brand: unique symbol;

/** A decimal number as text without exponent: `12`, `0.00000001`. Trailing zeros are significant. */
export type Decimal = string & { readonly [brand]: 'Decimal' };

/** Coins and tokens have at most 8 decimals and fit into a signed 64-bit integer of their smallest unit. */
const MAX_PLACES = 8;
const MAX_UNITS = 2n ** 63n - 1n;
const PLAIN = /^(0|[1-9]\d*)(?:\.(\d+))?$/;
const WRITTEN = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * Parses an amount to send: positive, at most 8 decimals, at most 2⁶³−1 smallest units.
 * @throws NodeError `node/invalid-argument`
 */
export function parseAmount(text: string, argument: string): Decimal {
  if (/[1-9]/.test(parseNativeAmount(text, argument))) return branded(text);
  throw invalidArgument('An amount must be more than 0.', argument, text);
}

/**
 * Parses native coins that go with a token: like an amount, and 0 means none.
 * @throws NodeError `node/invalid-argument`
 */
export function parseNativeAmount(text: string, argument: string): Decimal {
  const match = PLAIN.exec(text);
  if (match === null)
    throw invalidArgument(
      `An amount is written as digits, with a point if need be; not ${shown(text)}.`,
      argument,
      shown(text),
    );
  const [, whole = '', places = ''] = match;
  if (places.length > MAX_PLACES) {
    throw invalidArgument(
      `An amount has at most ${MAX_PLACES} decimals; ${shown(text)} has ${places.length}.`,
      argument,
      text,
    );
  }
  const units = BigInt(whole + places.padEnd(MAX_PLACES, '0'));
  if (units > MAX_UNITS) throw invalidArgument(`An amount fits in 63 bits; ${shown(text)} does not.`, argument, text);
  return branded(text);
}

/**
 * Parses a fee rate in sat/vB: not negative, at most three decimals.
 * @throws NodeError `node/invalid-argument`
 */
export function parseFeeRate(text: string): Decimal {
  if (/^(0|[1-9]\d{0,9})(\.\d{1,3})?$/.test(text)) return branded(text);
  throw invalidArgument(`A fee rate is sat/vB with at most 3 decimals; not ${shown(text)}.`, 'feeRate', shown(text));
}

/** Expands the exponent of a number. null: the text is no number. */
export function plainDecimal(written: string): Decimal | null {
  const match = WRITTEN.exec(written);
  if (match === null) return null;
  const [, sign = '', whole = '', places = '', exponent = '0'] = match;
  const shift = Number(exponent);
  const digits =
    shift < 0 ? whole.padStart(1 - shift, '0') + places : (whole + places).padEnd(whole.length + shift, '0');
  const point = shift < 0 ? Math.max(whole.length + shift, 1) : whole.length + shift;
  const head = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const tail = digits.slice(point);
  return branded(`${sign}${head}${tail === '' ? '' : `.${tail}`}`);
}

function branded(text: string): Decimal {
  return text as Decimal;
}

function shown(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
