import type { BackfillSource, SourceAnswer, ToldSize } from '../../src/backfill/source/backfill-source.ts';
import { SourceError } from '../../src/backfill/source/errors.ts';
import type { ContentName, VersionHash } from '../../src/core/blob/ids.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import type { Holding } from '../../src/verify/inventory.ts';
import { inventoryAnswer } from './peer-inventory.ts';
import type { SimulatedTime } from './simulated-time.ts';
import type { Truth } from './truth.ts';

/**
 * State of a peer; `empty`: it answers that it has nothing; `withholding`: it must not give anything out; `parted`: its inventory
 * is that of another branch.
 */
export type PeerHealth = 'well' | 'away' | 'empty' | 'withholding' | 'lying' | 'parted';

export const PEER_LATENCY_MS = 200;

/** Another archive that has a share of the blobs that are on chain. */
export class SimulatedPeer implements BackfillSource {
  readonly name: string;
  latencyMs = PEER_LATENCY_MS;
  #health: PeerHealth = 'well';
  /** When its health last changed. */
  changedMs = 0;
  /** The number of 256 blobs that it has. */
  readonly #share: number;
  readonly #truth: Truth;
  readonly #time: SimulatedTime;
  readonly #hasher: BlobHasher;

  constructor(number: number, share: number, truth: Truth, time: SimulatedTime, hasher: BlobHasher) {
    this.name = `peer https://peer-${number}.simulated`;
    this.#share = share;
    this.#truth = truth;
    this.#time = time;
    this.#hasher = hasher;
  }

  get health(): PeerHealth {
    return this.#health;
  }

  set health(value: PeerHealth) {
    this.#health = value;
    this.changedMs = this.#time.steadyMs;
  }

  /** The blobs that it has, whether it gives them now or not. */
  has(versionHash: VersionHash): boolean {
    return Number.parseInt(versionHash.slice(-2), 16) < this.#share && this.#truth.mined().has(versionHash);
  }

  async find({ versionHash }: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    await this.#answering(signal);
    const bytes = this.has(versionHash) ? this.#truth.bytes(versionHash) : null;
    if (this.health === 'lying') return { kind: 'bytes', candidates: [Buffer.from(`not ${versionHash}`)] };
    if (bytes === null || this.health === 'empty') return { kind: 'absent' };
    if (this.health === 'withholding') return { kind: 'withheld' };
    return { kind: 'bytes', candidates: [new Uint8Array(bytes)] };
  }

  async size({ versionHash }: ContentName, signal: AbortSignal): Promise<ToldSize> {
    await this.#answering(signal);
    if (this.health === 'empty' || !this.has(versionHash)) return null;
    return this.health === 'withholding' ? 'withheld' : 'unknown';
  }

  /** An archive with an inventory, and without attestations and proofs. */
  async question(path: string, signal: AbortSignal): Promise<unknown> {
    await this.#answering(signal);
    if (!path.startsWith('v1/inventory')) return null;
    const holdingOf = (versionHash: VersionHash) => this.#holdingOf(versionHash);
    const told = { holdingOf, isParted: this.health === 'parted' };
    return await inventoryAnswer(path, this.#truth, told, this.#hasher, signal);
  }

  #holdingOf(versionHash: VersionHash): Holding {
    if (this.health === 'lying') return 'stored';
    if (this.health === 'empty' || !this.has(versionHash)) return 'missing';
    return this.health === 'withholding' ? 'withheld' : 'stored';
  }

  async close(): Promise<void> {}

  async #answering(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const event = this.#time.after(this.latencyMs, this.#time.running, resolve);
    try {
      await promise;
    } finally {
      event.cancel();
      signal.removeEventListener('abort', stop);
    }
    if (this.health !== 'away') return;
    throw new SourceError('source/unreachable', `${this.name} does not answer.`, {
      retryable: true,
      hint: 'The simulation said so.',
    });
  }
}
