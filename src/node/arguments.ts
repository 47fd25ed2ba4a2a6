import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import { invalidArgument } from './errors.ts';

/** Checks of arguments before a call. Each throws NodeError `node/invalid-argument` with the rule and the value. */

const MAX_CONF_TARGET = 1_008;
const ADDRESS = /^[0-9A-Za-z]{14,100}$/;

/** The size is checked here, because a node answers success for a blob that is too large and drops it later. */
export function checkBlobSize(bytes: Uint8Array): void {
  if (bytes.length >= MIN_BLOB_BYTES && bytes.length <= MAX_BLOB_BYTES) return;
  throw invalidArgument(
    `A blob has ${MIN_BLOB_BYTES} to ${MAX_BLOB_BYTES} bytes; this one has ${bytes.length}.`,
    'data',
    bytes.length,
  );
}

/** Checks the characters of a base58 or bech32 address; the node checks the rest. */
export function checkAddress(address: string): void {
  if (ADDRESS.test(address)) return;
  throw invalidArgument(
    `An address is 14 to 100 letters and digits; not ${shown(address)}.`,
    'address',
    shown(address),
  );
}

export function checkConfTarget(blocks: number | undefined): void {
  if (blocks === undefined || (Number.isInteger(blocks) && blocks >= 1 && blocks <= MAX_CONF_TARGET)) return;
  throw invalidArgument(
    `A confirmation target is 1 to ${MAX_CONF_TARGET} blocks; not ${blocks}.`,
    'confTarget',
    blocks,
  );
}

export function checkWholeNumber(value: number | undefined, argument: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  throw invalidArgument(`${argument} is a whole number from 0 on; not ${value}.`, argument, value);
}

/** The `replaceable` value to send. Z-DAG is a fast confirmation that a replaceable transaction does not get. */
export function replaceableFor(options: {
  readonly replaceable?: boolean;
  readonly zdag?: boolean;
}): boolean | undefined {
  if (options.zdag !== true) return options.replaceable;
  if (options.replaceable !== true) return false;
  throw invalidArgument('Z-DAG is only possible when replaceable is false; it is true.', 'replaceable', true);
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
