import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf } from '../core/blob/errors.ts';
import { HttpError } from './errors.ts';

const LINE = /^sha256:([0-9a-f]{64})(?:\s.*)?$/i;
const MAX_TOKENS = 10_000;

/** Tokens that are let in. Only their hashes are known here: who reads the file, or this memory, has no token. */
export class TokenList {
  #hashes: readonly Buffer[];
  readonly #file: string;

  private constructor(hashes: readonly Buffer[], file: string) {
    this.#hashes = hashes;
    this.#file = file;
  }

  /**
   * A line a token: `sha256:<64 hex> anything`, as `printf %s "$token" | sha256sum` gives it; lines that begin with #
   * and empty ones do not count.
   * @throws HttpError `http/bad-tokens-file`; what is in the file is not repeated: it may be a token.
   */
  static parse(text: string, file: string): TokenList {
    const lines = text.split('\n').map((line) => line.trim());
    const hashes = lines.flatMap((line, index) => {
      if (line === '' || line.startsWith('#')) return [];
      const hex = LINE.exec(line)?.[1];
      if (hex === undefined) throw badFile(file, `line ${index + 1} is not sha256: and 64 hex characters`);
      return [Buffer.from(hex, 'hex')];
    });
    if (hashes.length === 0) throw badFile(file, 'it holds no token');
    if (hashes.length > MAX_TOKENS) throw badFile(file, `it holds more than ${MAX_TOKENS} tokens`);
    return new TokenList(hashes, file);
  }

  static async read(file: string): Promise<TokenList> {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (cause) {
      throw badFile(file, `it cannot be read: ${messageOf(cause)}`);
    }
    return TokenList.parse(text, file);
  }

  /**
   * Reads its file again; what is returned puts the tokens in place, and says whether they are others.
   * @throws HttpError `http/bad-tokens-file`; those of before stay then.
   */
  async prepare(): Promise<() => boolean> {
    const hashes = (await TokenList.read(this.#file)).#hashes;
    return () => {
      const isChanged = !Buffer.concat(this.#hashes).equals(Buffer.concat(hashes));
      this.#hashes = hashes;
      return isChanged;
    };
  }

  /** The value of an Authorization header. RPC clients know only user and password: the password is the token then. */
  admits(authorization: string | undefined): boolean {
    const token = tokenOf(authorization);
    if (token === null) return false;
    const hash = createHash('sha256').update(token).digest();
    // Every one is compared, so that the time tells nothing.
    return this.#hashes.reduce((found, known) => timingSafeEqual(known, hash) || found, false);
  }
}

function tokenOf(authorization: string | undefined): string | null {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)$/.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return null;
  const credentials = Buffer.from(value, 'base64').toString('utf8');
  const colon = credentials.indexOf(':');
  return colon < 0 ? null : credentials.slice(colon + 1);
}

function badFile(file: string, why: string): HttpError {
  return new HttpError('http/bad-tokens-file', `The file of tokens ${file} is no good: ${why}.`, {
    details: { file },
    retryable: false,
    hint: 'One line a token: sha256: and what `printf %s "$token" | sha256sum` gives.',
  });
}
