import { RpcError } from './rpc-error.ts';
import { WireNumber, type WireValue } from './wire-value.ts';

const MAX_GUID = 2n ** 64n - 1n;
/** Amounts are signed 64-bit counts of units. */
const MAX_UNITS = 2n ** 63n - 1n;
const SEGWIT_ADDRESS = /^[a-z]{2,5}1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38,58}$/;

/** Parses a guid, a number or a string, without losing a digit of 64 bits. */
export function parseGuid(value: WireValue): bigint {
  const text = value instanceof WireNumber ? value.source : value;
  const guid = typeof text === 'string' && /^\d{1,20}$/.test(text) ? BigInt(text) : null;
  if (guid === null || guid > MAX_GUID) throw new RpcError('invalidParameter', 'Could not parse asset guid');
  return guid;
}

/** Parses a decimal amount, a number or a string, into units of `decimals` places. */
export function parseUnits(value: WireValue, decimals: number): bigint {
  const text = value instanceof WireNumber ? value.source : value;
  if (typeof text !== 'string') throw new RpcError('type', 'Amount is not a number or string');
  const match = /^(\d{1,19})(?:\.(\d+))?$/.exec(text);
  const fraction = match?.[2] ?? '';
  if (match === null || fraction.length > decimals) throw new RpcError('type', 'Invalid amount');
  const units = BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`);
  if (units > MAX_UNITS) throw new RpcError('type', 'Amount out of range');
  return units;
}

export function parseAddress(value: WireValue): string {
  if (typeof value !== 'string' || !SEGWIT_ADDRESS.test(value)) {
    throw new RpcError('invalidAddressOrKey', 'Invalid address');
  }
  return value;
}
