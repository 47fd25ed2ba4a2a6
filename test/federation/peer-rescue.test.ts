import { expect, test } from 'vitest';
import { parseBlockHash, parseTxId, type VersionHash } from '../../src/core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { PeerRescue } from '../../src/federation/peer-rescue.ts';
import { openCatalog, sighting } from '../catalog/catalog-in-folder.ts';

const BLOBS = 48;
const MINED_SECONDS = 1_767_000_000;
const BLOCK = parseBlockHash('01'.repeat(32));

/** On chain and not here, with half of their window over. */
function catalogAtRisk() {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  const occurrences = Array.from({ length: BLOBS }, (_, transactionIndex) => {
    const { versionHash } = sighting(`at risk ${transactionIndex}`);
    const place = { txid: parseTxId('ab'.repeat(32)), vout: 0, transactionIndex, makeRecord: () => '{}' };
    return { versionHash, hashType: 'keccak256' as const, ...place };
  });
  const hashes = { hash: BLOCK, previousHash: parseBlockHash('00'.repeat(32)) };
  const times = { timeSeconds: MINED_SECONDS, medianTimeSeconds: MINED_SECONDS };
  catalog.chain.recordBlocks([{ height: 1, ...hashes, ...times, occurrences, unclear: [] }], () => false);
  return catalog;
}

test('every blob has its turn behind a peer that takes a minute to answer', async () => {
  let nowMs = 0;
  const clock = { wallMs: () => nowMs, steadyMs: () => nowMs };
  const asked: VersionHash[] = [];
  const ending = new AbortController();
  const slow = {
    name: 'slow peer',
    help: async ({ versionHash }: { readonly versionHash: VersionHash }) => {
      asked.push(versionHash);
      nowMs += 60_000;
      if (asked.length === BLOBS) ending.abort();
      return null;
    },
  };
  const tip = { height: 1, hash: BLOCK, medianTimeSeconds: MINED_SECONDS + RETENTION_SECONDS / 2, syncing: false };
  const rescue = new PeerRescue(
    [slow],
    catalogAtRisk(),
    { state: { tip } },
    new Notifier(),
    { spool: () => Promise.reject(new Error('No peer gave bytes.')) },
    new ConditionBoard(createLogger('fatal', { write: () => {} }), clock.wallMs),
    clock,
  );
  await rescue.run(ending.signal);
  expect(new Set(asked).size).toBe(BLOBS);
});
