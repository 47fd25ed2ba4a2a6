import { messageOf } from '../core/blob/errors.ts';
import { decodeHex } from '../core/blob/hex.ts';
import { VerifyError, type VerifyErrorCode } from './errors.ts';

/** @throws VerifyError `code` when the text is no hex. */
export function bytesOfHex(text: string, what: string, code: VerifyErrorCode = 'verify/malformed'): Uint8Array {
  try {
    return decodeHex(text);
  } catch (cause) {
    throw new VerifyError(code, `${what} is no hex: ${messageOf(cause)}`, { cause });
  }
}
