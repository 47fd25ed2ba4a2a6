import { randomInt } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import { proofPath, proofsIn } from './archive-answers.ts';
import { type ArchiveAudit, type AuditChain, auditArchive, type Drawn, drawOccurrences } from './audit-archive.ts';
import { occurrencesIn } from './inventory-occurrence.ts';
import type { Peer } from './peer.ts';

type AuditedCatalog = Pick<Catalog, 'chain' | 'snapshot' | 'withheld'>;

/** Four times a day: what a peer and this archive hardly notice. */
const SAMPLES = 4;

/** Draws a few occurrences from the chain as it was walked here, and asks the peer for bytes and proof of each. */
export async function auditPeer(
  peer: Peer,
  range: HeightRange,
  catalog: AuditedCatalog,
  hasher: BlobHasher,
  clock: Clock,
  signal: AbortSignal,
): Promise<ArchiveAudit> {
  const archive = {
    async blob(name: Drawn) {
      const answer = await peer.claim(name, signal);
      if (answer === null) throw new Error(`${peer.name} does not answer, or is left alone.`);
      return typeof answer === 'string' ? { kind: answer } : { kind: 'bytes' as const, bytes: answer.bytes };
    },
    proofs: async (name: Drawn) => proofsIn(await peer.question(proofPath(name), signal)),
  };
  const drawn = await drawnFrom(catalog, range, SAMPLES, signal);
  const hashAt = async (height: number) => catalog.chain.blockAt(height)?.hash ?? null;
  return await auditArchive(drawn, archive, { range, hasher, hashAt, steadyMs: clock.steadyMs }, signal);
}

/**
 * Asks a bucket, a folder or an archive without an inventory for one blob. So its absence is told, and told no
 * longer when it is back. It need not have the blob.
 */
export async function askForOne(
  peer: Peer,
  range: HeightRange,
  catalog: AuditedCatalog,
  signal: AbortSignal,
): Promise<void> {
  const [drawn] = await drawnFrom(catalog, range, 1, signal);
  const blob = drawn === undefined ? null : await peer.help(drawn, signal);
  if (blob !== null) forgetBytes(blob);
}

/** A blob that is taken down here is asked of no peer. */
async function drawnFrom(
  catalog: AuditedCatalog,
  range: HeightRange,
  samples: number,
  signal: AbortSignal,
): Promise<Drawn[]> {
  const snapshot = catalog.snapshot();
  const chain: AuditChain = {
    async blockAt(height) {
      const hash = snapshot.hashAt(height);
      const blocks = [...snapshot.inventory(height, height)].flat();
      const occurrences = blocks.flatMap((block) => occurrencesIn(block).map((read) => read()));
      return hash === null ? null : { hash, occurrences: occurrences.filter((one) => !catalog.withheld.has(one)) };
    },
  };
  try {
    return await drawOccurrences(chain, { range, samples, random: (below) => randomInt(below) }, signal);
  } finally {
    snapshot.close();
  }
}
