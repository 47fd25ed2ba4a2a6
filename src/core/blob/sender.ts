import { MalformedError } from './errors.ts';

declare const brand: unique symbol;

/** Lower-case hex of a scriptPubKey that a blob's transaction spends from. */
export type SenderScript = string & { readonly [brand]: 'SenderScript' };

/** Scripts that a transaction spends from. null: unknown. */
export type Senders = readonly SenderScript[] | null;

/** Scripts of one transaction that are kept; of a transaction with more of them, the senders count as unknown. */
export const MAX_SENDERS = 16;
/** Every standard script of one key, one hash, or three keys is shorter. */
export const MAX_SCRIPT_BYTES = 128;
const SCRIPT = new RegExp(`^(?:[0-9a-f]{2}){1,${MAX_SCRIPT_BYTES}}$`);

/** @throws MalformedError `malformed/hex` */
export function parseSenderScript(text: string): SenderScript {
  const lower = text.toLowerCase();
  if (isSenderScript(lower)) return lower;
  throw new MalformedError(
    'malformed/hex',
    `A sender must be a scriptPubKey of 1 to ${MAX_SCRIPT_BYTES} bytes in hex.`,
    {
      details: { length: text.length },
      retryable: false,
      hint: 'Ask the node: `getaddressinfo` and `validateaddress` give the scriptPubKey of an address.',
    },
  );
}

/** The senders of a transaction that spends from these scripts. null: they are too many or too long to be kept. */
export function sendersOf(scripts: readonly string[]): Senders {
  const distinct = [...new Set(scripts)].filter(isSenderScript);
  const isWhole = distinct.length > 0 && distinct.length === new Set(scripts).size;
  return isWhole && distinct.length <= MAX_SENDERS ? distinct : null;
}

/** The senders of content that several transactions carry. null: those of one are unknown. */
export function sendersOfAll(each: readonly Senders[]): Senders {
  const known = each.filter((senders) => senders !== null);
  return known.length < each.length ? null : known.flat();
}

function isSenderScript(text: string): text is SenderScript {
  return SCRIPT.test(text);
}
