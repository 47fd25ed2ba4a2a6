import { z } from 'zod';
import { invalidArgument } from './errors.ts';
import { JsonNumber, rawNumber } from './lossless-json.ts';
import type { Dialect } from './method-table.ts';

/** Largest guid, unsigned 64 bits. */
const MAX_GUID = 2n ** 64n - 1n;

/** @throws NodeError `node/invalid-argument` */
export function checkedGuid(guid: bigint): bigint {
  if (guid >= 0n && guid <= MAX_GUID) return guid;
  throw invalidArgument(`An asset guid is 0 to ${MAX_GUID}; not ${guid}.`, 'assetGuid', guid.toString());
}

/** Encodes a guid: a number in the specification, a string in release 4.2. */
export function wireGuid(guid: bigint, dialect: Dialect): unknown {
  return dialect === 'svc' ? rawNumber(guid.toString()) : guid.toString();
}

/** Decodes a guid, a number or a string depending on the dialect. */
export const assetGuid = z
  .union([z.int(), z.string(), z.instanceof(JsonNumber)])
  .transform((value) => (value instanceof JsonNumber ? value.source : String(value)))
  .refine((text) => /^\d{1,20}$/.test(text) && BigInt(text) <= MAX_GUID, 'an unsigned 64-bit number is expected')
  .transform(BigInt);
