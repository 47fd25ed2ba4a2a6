import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StorageError } from '../../../src/storage/errors.ts';
import { ArchiverKey } from '../../../src/storage/local/archiver-key.ts';
import { checkAttestation, parseBlockHash } from '../../../src/verify/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const AT = '2026-11-01T02:11:00.000Z';
const HASH = parseBlockHash('01'.repeat(32));

function attestationBy(signer: ArchiverKey) {
  const statement = {
    ...({ kind: 'holdfast/attestation', format: 1, archiver: 'ab'.repeat(8), number: 1, chain: HASH } as const),
    ...{ key: signer.publicKey, from: 1, to: 2, blockHash: HASH, root: HASH, unclear: 0, at: AT },
    counts: { missing: 0, stored: 1, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
  };
  return { ...signer.sign(statement), keys: signer.keys };
}

test('a key is made once, is its owner’s alone, and numbers go on after a restart', async () => {
  const folder = temporaryFolder();
  const made = await ArchiverKey.open(folder);
  expect(statSync(join(folder, 'archiver-key')).mode & 0o777).toBe(0o600);
  expect(await Promise.all([made.takeNumber(0), made.takeNumber(0), made.takeNumber(0)])).toEqual([1, 2, 3]);
  const again = await ArchiverKey.open(folder);
  expect([again.publicKey, await again.takeNumber(0)]).toEqual([made.publicKey, 4]);
});

test('a folder that comes out of a backup gives no number again that it gave since', async () => {
  const folder = temporaryFolder();
  const signer = await ArchiverKey.open(folder);
  await signer.takeNumber(1_000_000);
  const backup = readFileSync(join(folder, 'archiver-key'));
  const given = [await signer.takeNumber(2_000_000), await signer.takeNumber(2_000_000)];
  writeFileSync(join(folder, 'archiver-key'), backup);
  const restored = await ArchiverKey.open(folder);
  expect(given).not.toContain(await restored.takeNumber(3_000_000));
});

test('after a rotation another key signs, and the first one still leads to it', async () => {
  const folder = temporaryFolder();
  const signer = await ArchiverKey.open(folder);
  const { publicKey } = signer;
  const before = readFileSync(join(folder, 'archiver-key'), 'utf8');
  await signer.takeNumber(0);
  await signer.rotate(AT);
  await signer.rotate(AT);
  const again = await ArchiverKey.open(folder);
  expect(again.publicKey).not.toBe(publicKey);
  expect(await again.takeNumber(0)).toBe(2);
  const steps = await checkAttestation(attestationBy(again), publicKey);
  expect(steps.map(({ step, ok }) => [step, ok])).toEqual([
    ['signature', true],
    ['keys', true],
    ['key', true],
  ]);
  const { privateKey } = JSON.parse(before) as { privateKey: string };
  expect(readFileSync(join(folder, 'archiver-key'), 'utf8')).not.toContain(privateKey);
});

test('only so many keys are told of', async () => {
  const signer = await ArchiverKey.open(temporaryFolder());
  for (let count = 0; count < 66; count += 1) await signer.rotate(AT);
  expect(signer.keys).toHaveLength(64);
  expect((await checkAttestation(attestationBy(signer), null)).every(({ ok }) => ok)).toBe(true);
});

test.each(['', '{}', 'not a key', '{"format":1,"privateKey":"00","number":0,"keys":[]}'])(
  'a file that holds %j is refused and left as it is, and none of it is shown',
  async (text) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'archiver-key'), text);
    await expect(ArchiverKey.open(folder)).rejects.toSatisfy(
      (error: StorageError) => error.code === 'storage/unknown-format' && error.cause === undefined,
    );
    expect(readFileSync(join(folder, 'archiver-key'), 'utf8')).toBe(text);
  },
);
