import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../../core/blob/errors.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { canonicalJson } from '../../verify/attestation.ts';
import { MAX_SUCCESSIONS, type Signed, type Succession } from '../../verify/signed-statement.ts';
import { StorageError, storageFault } from '../errors.ts';
import { writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

const FILE = 'archiver-key';
const MAX_BYTES = 65_536;
const KEY = z.string().regex(/^[0-9a-f]{64}$/);
const keyFile = z.strictObject({
  format: z.literal(1),
  /** PKCS#8 in hex. */
  privateKey: z.string().regex(/^[0-9a-f]+$/),
  /** Number of the latest statement that was begun. */
  number: z.int().nonnegative(),
  keys: z.array(
    z.strictObject({
      statement: z.strictObject({
        kind: z.literal('holdfast/key'),
        format: z.literal(1),
        key: KEY,
        next: KEY,
        at: z.string(),
      }),
      signature: z.string(),
      accepted: z.string(),
    }),
  ),
});
type KeyFile = z.infer<typeof keyFile>;

/**
 * The key that this archiver signs with: Ed25519, made once for a data folder. Numbers of statements are kept beside it, and
 * each is durable before it is used, so that no crash gives one away twice. One thing at a time is done with it. The caller
 * holds the folder's lock; the file is its owner's alone, as all of the folder.
 */
export class ArchiverKey {
  readonly #folder: string;
  #file: KeyFile;
  #private: KeyObject;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, file: KeyFile) {
    this.#folder = folder;
    this.#file = file;
    this.#private = privateKeyIn(file);
  }

  static async open(folder: string): Promise<ArchiverKey> {
    const path = join(folder, FILE);
    let text: string;
    try {
      text = (await readRegularFile(path, MAX_BYTES)).toString('utf8');
    } catch (cause) {
      if (codeOf(cause) !== 'ENOENT') throw storageFault('local', `read ${FILE}`, cause, path);
      const made: KeyFile = { format: 1, privateKey: newKey(), number: 0, keys: [] };
      await write(folder, made);
      return new ArchiverKey(folder, made);
    }
    try {
      return new ArchiverKey(folder, keyFile.parse(JSON.parse(text)));
    } catch (cause) {
      // The message leaves out the cause, which may quote a part of the key.
      throw unreadable(path, codeOf(cause));
    }
  }

  /** 32 bytes in hex. */
  get publicKey(): string {
    return publicKeyOf(this.#private);
  }

  /** Successions from earlier keys to this one. */
  get keys(): readonly Succession[] {
    return this.#file.keys;
  }

  /**
   * Takes a number that no earlier statement had. It is at least the given time in seconds. A key restored from a
   * backup therefore repeats no number that it gave since the backup.
   */
  takeNumber(atMs: number): Promise<number> {
    return this.#inTurn(async () => {
      const number = Math.max(this.#file.number + 1, Math.floor(atMs / 1_000));
      await this.#replace({ ...this.#file, number });
      return number;
    });
  }

  sign<Statement extends object>(statement: Statement): Signed<Statement> {
    return { statement, signature: signatureOf(this.#private, statement) };
  }

  /** Another key from now on: this one signs that it follows, the other one that it does, and this one is no more. */
  rotate(at: string): Promise<void> {
    return this.#inTurn(async () => {
      const privateKey = newKey();
      const coming = privateKeyIn({ privateKey });
      const next = publicKeyOf(coming);
      const statement = { kind: 'holdfast/key', format: 1, key: this.publicKey, next, at } as const;
      const succession = { ...this.sign(statement), accepted: signatureOf(coming, statement) };
      const keys = [...this.#file.keys, succession].slice(-MAX_SUCCESSIONS);
      await this.#replace({ ...this.#file, privateKey, keys });
    });
  }

  async #replace(file: KeyFile): Promise<void> {
    await write(this.#folder, file);
    this.#file = file;
    this.#private = privateKeyIn(file);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    // The caller of this turn gets its error; the next turn only waits until this one has ended.
    this.#last = turn.catch(() => undefined);
    return await turn;
  }
}

function newKey(): string {
  return encodeHex(generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }));
}

function privateKeyIn({ privateKey }: Pick<KeyFile, 'privateKey'>): KeyObject {
  return createPrivateKey({ key: Buffer.from(privateKey, 'hex'), format: 'der', type: 'pkcs8' });
}

function publicKeyOf(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('hex');
}

function signatureOf(key: KeyObject, statement: object): string {
  return encodeHex(sign(null, Buffer.from(canonicalJson(statement)), key));
}

async function write(folder: string, file: KeyFile): Promise<void> {
  const path = join(folder, FILE);
  try {
    await writeDurably(path, Buffer.from(`${JSON.stringify(file)}\n`), folder);
  } catch (cause) {
    throw storageFault('local', `write ${FILE}`, cause, path);
  }
}

function unreadable(file: string, systemCode: string | null): StorageError {
  return new StorageError('storage/unknown-format', `${file} does not hold the key of an archiver.`, {
    details: { file, systemCode },
    retryable: false,
    hint: 'Restore it from a backup. Without one, move it away: Holdfast makes a new key, which no peer trusts yet.',
  });
}
