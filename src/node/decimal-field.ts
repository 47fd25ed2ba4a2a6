import { z } from 'zod';
import { type Decimal, plainDecimal } from './decimal.ts';
import { JsonNumber } from './lossless-json.ts';

/** Decodes a number or numeric string with all digits. An exponent is expanded. */
export const decimal = z
  .union([z.int(), z.string(), z.instanceof(JsonNumber)])
  .transform((value) => plainDecimal(value instanceof JsonNumber ? value.source : String(value)))
  .refine((text): text is Decimal => text !== null, 'a decimal number is expected');
