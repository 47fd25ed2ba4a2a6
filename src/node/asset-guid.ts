import { z } from 'zod';
import { invalidArgument } from './errors.ts';
import { JsonNumber, rawNumber } from './lossless-json.ts';
import type { Dialect } from './method-table.ts';

/** Unsigned, 64 bits. */
const MAX_GUID = 2n ** 64n - 1n;

/** @throws NodeError `node/invalid-argument` */
export function checkedGuid(guid: bigint): bigint {
  if (guid >= 0n && guid <= MAX_GUID) return guid;
  throw invalidArgument(`An asset guid is 0 to ${MAX_GUID}; not ${guid}.`, 'assetGuid', guid.toString());
}

/** The specification has a number there, release 4.2 a string. */
export function wireGuid(guid: bigint, dialect: Dialect): unknown {
  return dialect === 'svc' ? rawNumber(guid.toString()) : guid.toString();
}

/** Number or string, as the dialect has it. */
export const assetGuid = z
  .union([z.int(), z.string(), z.instanceof(JsonNumber)])
  .transform((value) => (value instanceof JsonNumber ? value.source : String(value)))
  .refine((text) => /^\d{1,20}$/.test(text) && BigInt(text) <= MAX_GUID, 'an unsigned 64-bit number is expected')
  .transform(BigInt);
