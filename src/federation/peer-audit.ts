import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import { proofPath, proofsIn } from './archive-answers.ts';
import { type AuditChain, auditArchive, type Drawn, drawOccurrences } from './audit-archive.ts';
import { occurrencesIn } from './inventory-occurrence.ts';
import type { Peer } from './peer.ts';

type AuditedCatalog = Pick<Catalog, 'chain' | 'snapshot' | 'withheld'>;
type WalkedBlock = NonNullable<Awaited<ReturnType<AuditChain['blockAt']>>>;

/** Four times a day: what a peer and this archive hardly notice. */
const SAMPLES = 4;
const REMEMBERED_BLOCKS = 256;

/** Asks a peer for what it says it holds, of occurrences that are drawn from the chain as it was walked here. */
export class PeerAudit {
  readonly #catalog: AuditedCatalog;
  readonly #hasher: BlobHasher;
  readonly #clock: Pick<Clock, 'steadyMs'>;

  constructor(catalog: AuditedCatalog, hasher: BlobHasher, clock: Pick<Clock, 'steadyMs'>) {
    this.#catalog = catalog;
    this.#hasher = hasher;
    this.#clock = clock;
  }

  /** Asks for bytes and proof of a few occurrences. */
  async run(peer: Peer, range: HeightRange, signal: AbortSignal): Promise<void> {
    const [catalog, hasher] = [this.#catalog, this.#hasher];
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
    const { steadyMs } = this.#clock;
    peer.addAudit(await auditArchive(drawn, archive, { range, hasher, hashAt, steadyMs }, signal));
  }

  /**
   * Asks a bucket, a folder or an archive without an inventory for one blob. So its absence is told, and told no
   * longer when it is back. It need not have the blob.
   */
  async askForOne(peer: Peer, range: HeightRange, signal: AbortSignal): Promise<void> {
    const [drawn] = await drawnFrom(this.#catalog, range, 1, signal);
    const blob = drawn === undefined ? null : await peer.help(drawn, signal);
    if (blob !== null) forgetBytes(blob);
  }
}

/** A blob that is taken down here is asked of no peer. */
async function drawnFrom(
  catalog: AuditedCatalog,
  range: HeightRange,
  samples: number,
  signal: AbortSignal,
): Promise<Drawn[]> {
  const snapshot = catalog.snapshot();
  const blockAt = (height: number) => {
    const hash = snapshot.hashAt(height);
    if (hash === null) return null;
    const blocks = [...snapshot.inventory(height, height)].flat();
    const occurrences = blocks.flatMap((block) => occurrencesIn(block).map((read) => read()));
    return { hash, occurrences: occurrences.filter((one) => !catalog.withheld.has(one)) };
  };
  // A short chain with few blobs is drawn from thousands of times.
  const blocks = new LRUCache<number, { readonly block: WalkedBlock | null }>({
    max: REMEMBERED_BLOCKS,
    memoMethod: (height) => ({ block: blockAt(height) }),
  });
  const chain: AuditChain = { blockAt: async (height) => blocks.memo(height).block };
  try {
    return await drawOccurrences(chain, { range, samples, random: (below) => randomInt(below) }, signal);
  } finally {
    snapshot.close();
  }
}
