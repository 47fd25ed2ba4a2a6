import { expect, test } from 'vitest';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { Attestor } from '../../src/federation/attestor.ts';
import { Inventories } from '../../src/federation/inventories.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { checkAttestation, parseAttestation } from '../../src/verify/attestation.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { openCatalog, sighting } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NEVER = new AbortController().signal;
const hash = (height: number, branch = 'a') => parseBlockHash(branch.repeat(4) + height.toString(16).padStart(60, '0'));

test('everything that is signed was so at one moment, also where the chain turns around before it is signed', async () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  const record = (branch: string, unclear: number) => {
    const hashes = { hash: hash(1, branch), previousHash: hash(0) };
    const txids = Array.from({ length: unclear }, (_, index) => parseTxId(String(index).padStart(64, '0')));
    const unclearOnes = txids.map((txid, transactionIndex) => ({ transactionIndex, txid, candidates: 2 }));
    const times = { timeSeconds: 100, medianTimeSeconds: 100 };
    catalog.chain.recordBlocks(
      [{ height: 1, ...hashes, ...times, occurrences: [], unclear: unclearOnes }],
      () => false,
    );
  };
  record('a', 1);
  const chain = { finalHeight: 1, lacksHistory: false };
  const clock = { wallMs: () => 0, steadyMs: () => 0 };
  const inventories = new Inventories(catalog, nobleHasher, chain, { isDone: true }, async () => hash(0), clock);
  const turning = {
    async fresh(...asked: Parameters<Inventories['fresh']>) {
      const lookup = await inventories.fresh(...asked);
      catalog.chain.takeBack(0);
      record('b', 3);
      return lookup;
    },
  };
  const signer = await ArchiverKey.open(temporaryFolder());
  const attestor = new Attestor('ab'.repeat(8), signer, turning, catalog, clock);
  const { statement } = await attestor.attest({ from: null, to: null }, NEVER);
  expect([statement.blockHash, statement.unclear]).toEqual([hash(1, 'a'), 1]);
});

test('a statement counts apart what a rule leaves out', async () => {
  const catalog = openCatalog({ rule: new ArchiveRule({ maxBlobBytes: 99, allowed: null }) });
  catalog.chain.recordStart(1);
  catalog.noteListed([sighting('left out')]);
  const occurrences = ['left out', 'missing'].map((label, transactionIndex) => {
    const txid = parseTxId(String(transactionIndex).padStart(64, '0'));
    const place = { txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
    return { hashType: 'keccak256' as const, versionHash: sighting(label).versionHash, ...place };
  });
  const times = { timeSeconds: 100, medianTimeSeconds: 100 };
  const block = { height: 1, hash: hash(1), previousHash: hash(0), ...times, occurrences, unclear: [] };
  catalog.chain.recordBlocks([block], () => false);
  const chain = { finalHeight: 1, lacksHistory: false };
  const clock = { wallMs: () => 0, steadyMs: () => 0 };
  const inventories = new Inventories(catalog, nobleHasher, chain, { isDone: true }, async () => hash(0), clock);
  const attestor = new Attestor('ab'.repeat(8), await ArchiverKey.open(temporaryFolder()), inventories, catalog, clock);
  const signed = parseAttestation(JSON.stringify(await attestor.attest({ from: null, to: null }, NEVER)));
  const counts = { missing: 1, stored: 0, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 1 };
  expect(signed.statement.counts).toEqual(counts);
  expect((await checkAttestation(signed, null)).map(({ ok }) => ok)).not.toContain(false);
});

test('the latest statement has the highest number, also when the clock was a year ahead and is right again', async () => {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  const times = { timeSeconds: 100, medianTimeSeconds: 100 };
  const block = { height: 1, hash: hash(1), previousHash: hash(0), ...times, occurrences: [], unclear: [] };
  catalog.chain.recordBlocks([block], () => false);
  const chain = { finalHeight: 1, lacksHistory: false };
  let now = '2027-05-01T00:00:00.000Z';
  const clock = { wallMs: () => Date.parse(now), steadyMs: () => 0 };
  const inventories = new Inventories(catalog, nobleHasher, chain, { isDone: true }, async () => hash(0), clock);
  const attestor = new Attestor('ab'.repeat(8), await ArchiverKey.open(temporaryFolder()), inventories, catalog, clock);
  await attestor.attestMonthly(NEVER);
  now = '2026-05-01T00:00:00.000Z';
  await attestor.attestMonthly(NEVER);
  expect(attestor.summary?.at).toBe(now);
  expect(attestor.attestation({ month: null, range: null })?.statement.at).toBe(now);
  expect(attestor.attestation({ month: '2027-05', range: null })?.statement.at).toBe('2027-05-01T00:00:00.000Z');
});
