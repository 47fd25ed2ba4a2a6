import { expect, test } from 'vitest';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { Attestor } from '../../src/federation/attestor.ts';
import { Inventories } from '../../src/federation/inventories.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
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
