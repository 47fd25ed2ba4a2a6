import { z } from 'zod';
import { type Decimal, plainDecimal } from './decimal.ts';
import { JsonNumber } from './lossless-json.ts';

/** A number or numeric string of an answer, as the node wrote it; an exponent is written out. */
export const decimal = z
  .union([z.int(), z.string(), z.instanceof(JsonNumber)])
  .transform((value) => plainDecimal(value instanceof JsonNumber ? value.source : String(value)))
  .refine((text): text is Decimal => text !== null, 'a decimal number is expected');
