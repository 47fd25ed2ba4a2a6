import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { canonicalJson } from '../../src/verify/index.ts';

export const SIGNED_AT = '2026-11-01T02:11:00.000Z';

export interface TestSigner {
  readonly key: string;
  readonly privateKey: KeyObject;
}

export function testSigner(): TestSigner {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
  return { privateKey, key };
}

export function signedBy<S extends object>(statement: S, { privateKey }: Pick<TestSigner, 'privateKey'>) {
  const signature = sign(null, Buffer.from(canonicalJson(statement)), privateKey).toString('hex');
  return { statement, signature };
}

/** One key gives its place to the next; `acceptedBy` is whose signature says that it does. */
export function succession(from: TestSigner, to: TestSigner, acceptedBy = to) {
  const about = { kind: 'holdfast/key', format: 1, key: from.key, next: to.key, at: SIGNED_AT } as const;
  return { ...signedBy(about, from), accepted: signedBy(about, acceptedBy).signature };
}
