import { expect, test } from 'vitest';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { PeerStatements } from '../../src/federation/peer-statements.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import type { Attestation, AttestationStatement } from '../../src/verify/attestation.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const HASH = parseBlockHash('01'.repeat(32));
const AT = '2026-11-01T02:11:00.000Z';

async function scene() {
  const signer = await ArchiverKey.open(temporaryFolder());
  const catalog = openCatalog();
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0);
  const statements = new PeerStatements(catalog, conditions, { wallMs: () => 0, steadyMs: () => 0 });
  const attested = (change: Partial<AttestationStatement> = {}): Attestation => {
    const statement = {
      ...({ kind: 'holdfast/attestation', format: 1, archiver: 'ab'.repeat(8), number: 1, chain: HASH } as const),
      ...{ key: signer.publicKey, from: 1, to: 2, blockHash: HASH, root: HASH, unclear: 0, at: AT },
      counts: { missing: 0, stored: 1, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
      ...change,
    };
    return { ...signer.sign(statement), keys: signer.keys };
  };
  const codes = () => conditions.all().map(({ code }) => code);
  return { signer, catalog, statements, attested, codes };
}

test('two statements that contradict each other are told and kept as evidence, whichever peers gave them', async () => {
  const { signer, catalog, statements, attested, codes } = await scene();
  const { publicKey } = signer;
  const [first, second] = [attested(), attested({ number: 2, unclear: 1 })];
  await statements.see('peer a', first);
  await statements.see('peer a', first);
  await statements.see('peer a', attested({ number: 2, to: 3, unclear: 1 }));
  expect(codes()).toEqual([]);
  await statements.see('peer b', second);
  expect(codes()).toEqual(['peer/equivocation']);
  expect(catalog.evidence.find(`equivocations/${publicKey}.json`)).toMatchObject({ one: first, other: second });
  // A new key does not make it honest, and an honest statement does not take back what was signed.
  await signer.rotate(AT);
  await statements.see('peer b', attested({ number: 9, to: 9 }));
  expect(codes()).toEqual(['peer/equivocation']);
  expect(catalog.evidence.below('equivocations', '', 9)).toHaveLength(1);
});

test('a document that is no statement, or that its key did not sign, is told and not kept', async () => {
  const { catalog, statements, attested, codes } = await scene();
  for (const wrong of [7, { ...attested(), signature: '00'.repeat(64) }]) {
    await statements.see('peer a', wrong);
    expect(codes()).toEqual(['peer/bad-attestation']);
  }
  expect(catalog.statements.all()).toEqual([]);
  await statements.see('peer a', attested());
  expect(codes()).toEqual([]);
});

test('a hostile archiver that names the key of an honest one as its successor does not make its own lies the lies of that one', async () => {
  const { catalog, statements, attested, codes } = await scene();
  const hostile = await scene();
  const honest = attested();
  const lie = hostile.attested({ number: 2, unclear: 5 });
  const about = {
    kind: 'holdfast/key',
    format: 1,
    key: lie.statement.key,
    next: honest.statement.key,
    at: AT,
  } as const;
  const succession = hostile.signer.sign(about);
  await statements.see('peer hostile', { ...honest, keys: [{ ...succession, accepted: succession.signature }] });
  expect(codes()).toEqual(['peer/bad-attestation']);
  await statements.see('peer hostile', lie);
  await statements.see('peer honest', honest);
  expect(codes()).toEqual([]);
  expect(catalog.evidence.below('equivocations', '', 9)).toEqual([]);
});

test('the newest 256 are kept', async () => {
  const { catalog } = await scene();
  for (let count = 0; count < 300; count += 1) catalog.statements.put(String(count));
  catalog.statements.put('299');
  const kept = catalog.statements.all();
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([256, '44', '299']);
});
