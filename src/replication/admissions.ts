import { messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import { bindTo } from '../storage/chain-binding.ts';
import { StorageError } from '../storage/errors.ts';
import { Admission, type AdmissionModules } from './admission.ts';
import type { BackendHandle } from './backend-handle.ts';

/** Lets the backends in: each by itself in an archive that runs, and all together for a command that runs once. */
export class Admissions {
  readonly sites: readonly BackendHandle[];
  readonly #modules: AdmissionModules;
  readonly #admissions: readonly Admission[];

  constructor(sites: readonly BackendHandle[], modules: AdmissionModules) {
    this.sites = sites;
    this.#modules = modules;
    this.#admissions = sites.map((site) => new Admission(site, modules));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#admissions.map((admission) => admission.run(signal)));
  }

  /**
   * Tries once to let each backend in. Gives why some cannot be used: one that does not say which chain it belongs to is not
   * let in. Throws `storage/other-chain` where backends belong to different chains.
   */
  async tryOnce(signal: AbortSignal): Promise<Map<string, string>> {
    const faults = new Map<string, string>();
    const bound = new Map<BlockHash, string>();
    const own = await this.#modules.chain(signal);
    await Promise.all(
      this.#admissions.map(async (admission) => {
        try {
          const genesis = own === null ? await admission.boundChain(signal) : null;
          if (genesis !== null) bound.set(genesis, admission.id);
        } catch (error) {
          signal.throwIfAborted();
          faults.set(admission.id, messageOf(error));
        }
      }),
    );
    if (bound.size > 1) throw severalChains(bound);
    await Promise.all(
      this.#admissions.map(async (admission) => {
        if (admission.isDone || faults.has(admission.id)) return;
        const fault = await admission.tryOnce(own, signal);
        if (fault !== null) faults.set(admission.id, fault);
      }),
    );
    return faults;
  }

  /** Says at the backend which chain it belongs to, where that is known and gone there. */
  async bind(site: BackendHandle, signal: AbortSignal): Promise<void> {
    const genesis = await this.#modules.chain(signal);
    if (genesis !== null) await site.judged(() => bindTo(site.store, genesis, signal), signal);
  }
}

function severalChains(bound: ReadonlyMap<BlockHash, string>): StorageError {
  const whose = [...bound].map(([genesis, id]) => `${id} to the one that begins with ${genesis}`).join(', ');
  return new StorageError('storage/other-chain', `The backends belong to different chains: ${whose}.`, {
    details: { bound: Object.fromEntries([...bound].map(([genesis, id]) => [id, genesis])) },
    retryable: false,
    hint: 'Configure the backends of one chain, or name the data folder of that chain (HOLDFAST_DATA_DIR).',
  });
}
