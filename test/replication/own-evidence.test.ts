import { expect, test, vi } from 'vitest';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { EvidenceCopies } from '../../src/replication/evidence-copies.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { parseRecordPath } from '../../src/storage/record-path.ts';
import { type Attestation, type AttestationStatement, keysOf } from '../../src/verify/attestation.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { MemoryStore } from '../storage/memory-store.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NEVER = new AbortController().signal;
const ID = 'ab'.repeat(8);
const HASH = parseBlockHash('01'.repeat(32));
const AT = '2026-11-01T02:11:00.000Z';
const MONTH = 'attestations/whole/2026-11';

function attested(signer: ArchiverKey, change: Partial<AttestationStatement> = {}): Attestation {
  const statement = {
    ...({ kind: 'holdfast/attestation', format: 1, archiver: ID, number: 1, chain: HASH } as const),
    ...{ key: signer.publicKey, from: 1, to: 2, blockHash: HASH, root: HASH, unclear: 0, at: AT },
    counts: { missing: 0, stored: 1, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
    ...change,
  };
  return { ...signer.sign(statement), keys: signer.keys };
}

const ownKey = () => ArchiverKey.open(temporaryFolder());
const contradiction = (one: Attestation, other: Attestation) => ({
  ...{ format: 1, noticedAt: AT, kind: 'other-occurrences', says: 'It counted otherwise.' },
  ...{ one, other },
});

/** Lays these below `audit/<archiver id>/` of a data folder, and lets a new catalog take them over. */
async function takenOver(signer: ArchiverKey, documents: Readonly<Record<string, unknown>>) {
  const folder = new MemoryStore('local');
  const laid = new Map(
    Object.entries(documents).map(([path, value]) => [
      parseRecordPath(`audit/${ID}/${path}`),
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
  for (const [path, text] of laid) await folder.put({ path, text }, 'replace', NEVER);
  const catalog = openCatalog();
  catalog.copies.useBackends([folder.id]);
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const ownKeys = () => keysOf({ statement: attested(signer).statement, keys: signer.keys });
  await new EvidenceCopies(ID, ownKeys, catalog, [folder], conditions).prepare(NEVER);
  const taken = Object.keys(documents).filter((path) => catalog.evidence.find(path) !== null);
  // Nothing is deleted, whatever it is.
  expect(new Map(folder.documents)).toEqual(laid);
  return { taken, told: conditions.all(), isTakenOver: catalog.evidence.isTakenOver };
}

test('a statement that this archiver signed is taken over, also with a key that another one has followed', async () => {
  const signer = await ownKey();
  const before = attested(signer);
  await signer.rotate(AT);
  const after = attested(signer, { number: 2 });
  const range = attested(signer, { number: 3, from: 5, to: 9 });
  const documents = {
    [`${MONTH}/0000000001.json`]: before,
    [`${MONTH}/0000000002.json`]: after,
    'attestations/ranges/5-9/0000000003.json': range,
  };
  expect(await takenOver(signer, documents)).toMatchObject({ taken: Object.keys(documents), told: [] });
});

test('a statement that none of its keys signed is reported, and not taken over', async () => {
  const [signer, stranger] = [await ownKey(), await ownKey()];
  const own = attested(signer);
  const forged = [
    attested(stranger),
    { ...own, statement: { ...own.statement, number: 2, unclear: 7 } },
    { ...attested(stranger), statement: { ...attested(stranger).statement, key: signer.publicKey } },
    attested(signer, { archiver: 'cd'.repeat(8) }),
    { ...own, keys: [{ statement: { kind: 'holdfast/key', format: 1, key: signer.publicKey } }] },
    {},
  ];
  for (const document of forged) {
    const { taken, told } = await takenOver(signer, { [`${MONTH}/0000000001.json`]: document });
    expect(taken).toEqual([]);
    expect(told).toMatchObject([{ code: 'archive/refused-evidence', blocksReadiness: false }]);
    expect(told[0]?.message).toMatch(/^1 documents .*\/attestations\/whole\/2026-11\/0000000001\.json: /);
  }
});

test('an old statement under the path of a later one, of another month or of another range, is not taken over', async () => {
  const signer = await ownKey();
  const documents = {
    [`${MONTH}/0000000009.json`]: attested(signer),
    'attestations/whole/2026-12/0000000001.json': attested(signer),
    'attestations/ranges/1-9/0000000001.json': attested(signer),
    'attestations/else/0000000001.json': attested(signer),
  };
  const { taken, told } = await takenOver(signer, documents);
  expect([taken, told[0]?.message]).toEqual([[], expect.stringMatching(/^4 documents /)]);
});

test('a document that was left is reported after each start, until it is gone', async () => {
  const [signer, stranger] = [await ownKey(), await ownKey()];
  const folder = new MemoryStore('local');
  const path = (number: number) => parseRecordPath(`audit/${ID}/${MONTH}/000000000${number}.json`);
  await folder.put({ path: path(1), text: JSON.stringify(attested(signer)) }, 'replace', NEVER);
  await folder.put({ path: path(2), text: JSON.stringify(attested(stranger, { number: 2 })) }, 'replace', NEVER);
  const catalog = openCatalog();
  catalog.copies.useBackends([folder.id]);
  const toldAtStart = async () => {
    const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
    const ownKeys = () => [signer.publicKey];
    await new EvidenceCopies(ID, ownKeys, catalog, [folder], conditions).prepare(NEVER);
    return conditions.all().map(({ code }) => code);
  };
  expect(await toldAtStart()).toEqual(['archive/refused-evidence']);
  // The catalog's document is later than the one in the folder, and stays.
  catalog.evidence.put(`${MONTH}/0000000001.json`, { later: true });
  expect(await toldAtStart()).toEqual(['archive/refused-evidence']);
  expect(catalog.evidence.find(`${MONTH}/0000000001.json`)).toEqual({ later: true });
  folder.objects.delete(path(2));
  expect(await toldAtStart()).toEqual([]);
  expect(catalog.evidence.hasGiven(folder.id)).toBe(true);
});

test('evidence that was left is not read again for each delivery of the same process', async () => {
  const [signer, stranger] = [await ownKey(), await ownKey()];
  const folder = new MemoryStore('local');
  const path = parseRecordPath(`audit/${ID}/${MONTH}/0000000001.json`);
  await folder.put({ path, text: JSON.stringify(attested(stranger)) }, 'replace', NEVER);
  const catalog = openCatalog();
  catalog.copies.useBackends([folder.id]);
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const evidence = new EvidenceCopies(ID, () => [signer.publicKey], catalog, [folder], conditions);
  const list = vi.spyOn(folder, 'list');
  await evidence.prepare(NEVER);
  await evidence.prepare(NEVER);
  expect(list).toHaveBeenCalledTimes(1);
  expect(conditions.all().map(({ code }) => code)).toEqual(['archive/refused-evidence']);
});

test('an archiver is accused only by two statements that it signed and that contradict each other', async () => {
  const [signer, liar, stranger] = [await ownKey(), await ownKey(), await ownKey()];
  const path = `equivocations/${liar.publicKey}.json`;
  const [one, other] = [attested(liar), attested(liar, { number: 2, unclear: 1 })];
  const proven = await takenOver(signer, { [path]: contradiction(one, other) });
  expect(proven).toMatchObject({ taken: [path], told: [] });
  const forged = [
    contradiction(one, { ...other, signature: one.signature }),
    contradiction(one, attested(liar, { number: 2, to: 3 })),
    contradiction(one, one),
    contradiction(attested(stranger), attested(stranger, { number: 2, unclear: 1 })),
    contradiction(one, attested(stranger, { number: 2, unclear: 1 })),
    { ...contradiction(one, other), other: undefined },
  ];
  for (const document of forged) {
    const { taken, told } = await takenOver(signer, { [path]: document });
    expect([taken, told.map(({ code }) => code)]).toEqual([[], ['archive/refused-evidence']]);
  }
});

test('a document that is no JSON, or a loss of another blob than its path names, is not taken over and keeps nothing else', async () => {
  const loss = {
    ...{ format: 1, hashType: 'keccak256', versionHash: '0a'.repeat(32), upToHeight: 9, deadlineSeconds: 9 },
    ...{ recordedAt: AT, answers: [], revokedAt: null, revokedBecause: null },
  };
  const there = `lost/keccak256/${'0a'.repeat(32)}/${'02'.repeat(32)}-0.json`;
  const elsewhere = `lost/keccak256/${'0b'.repeat(32)}/${'02'.repeat(32)}-0.json`;
  const documents = {
    'audits/1.json': '{"cut',
    'audits/2.json': '"text"',
    'audits/3.json': '['.repeat(1_000),
    'audits/4.json': { complete: true },
    [there]: loss,
    [elsewhere]: loss,
  };
  const { taken, told } = await takenOver(await ownKey(), documents);
  expect(taken).toEqual(['audits/4.json', there]);
  expect(told[0]?.message).toMatch(/^4 documents /);
});

const leftOut = (from: number) => ({ format: 1, from, to: from + 63, blobs: [] });

test('losses wait while a document about what a rule left out is not taken over', async () => {
  const signer = await ownKey();
  const good = await takenOver(signer, { 'not-archived/64.json': leftOut(64) });
  expect(good).toMatchObject({ taken: ['not-archived/64.json'], told: [], isTakenOver: true });
  for (const document of ['{', { ...leftOut(64), format: 2 }, leftOut(128)]) {
    const left = await takenOver(signer, { 'not-archived/64.json': document });
    expect(left).toMatchObject({ taken: [], told: [{ code: 'archive/refused-evidence' }], isTakenOver: false });
  }
  // Another document that is left tells nothing of it.
  const other = await takenOver(signer, { [`${MONTH}/0000000001.json`]: {} });
  expect(other).toMatchObject({ taken: [], isTakenOver: true });
});
