import type { CacheFill } from './cache-fill.ts';
import type { LocalMender } from './local-mender.ts';
import type { OrphanSweep } from './orphan-sweep.ts';
import type { RowSalvage } from './row-salvage.ts';
import type { UnminedExpiry } from './unmined-expiry.ts';

/** The work on the copies in the data folder. */
export class LocalUpkeep {
  readonly mender: LocalMender;
  readonly rowSalvage: RowSalvage;
  readonly orphans: OrphanSweep;
  readonly cacheFill: CacheFill;
  readonly #expiry: UnminedExpiry;

  constructor(
    mender: LocalMender,
    rowSalvage: RowSalvage,
    orphans: OrphanSweep,
    cacheFill: CacheFill,
    expiry: UnminedExpiry,
  ) {
    this.mender = mender;
    this.rowSalvage = rowSalvage;
    this.orphans = orphans;
    this.cacheFill = cacheFill;
    this.#expiry = expiry;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#expiry.run(signal),
      this.mender.run(signal),
      this.rowSalvage.run(signal),
      // Blobs that are read from backends are cached only after the sweep, which may be looking at the same ones.
      this.orphans.run(signal).then(() => this.cacheFill.run(signal)),
    ]);
  }
}
