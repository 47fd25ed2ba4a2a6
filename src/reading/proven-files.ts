import { HASH_TYPES, type NamedHash } from '../core/blob/ids.ts';
import { StorageError } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import type { ProvenFile } from '../view/archive-view.ts';
import type { Gate } from './gate.ts';
import { LocalFile } from './local-file.ts';

/** The files of the data folder that can be sent as they are. */
export class ProvenFiles {
  readonly #store: Pick<LocalStore, 'openFile'>;
  readonly #rehash: RehashRule;
  readonly #gate: Gate;

  constructor(store: Pick<LocalStore, 'openFile'>, rehash: RehashRule, gate: Gate) {
    this.#store = store;
    this.#rehash = rehash;
    this.#gate = gate;
  }

  /** A file that this process has hashed since it last changed; null: find and prove it. */
  async open({ versionHash, hashType }: NamedHash, signal: AbortSignal): Promise<ProvenFile | null> {
    for (const type of hashType === null ? HASH_TYPES : [hashType]) {
      const name = { hashType: type, versionHash };
      if (!this.#rehash.knows(name)) continue;
      const file = await this.#store.openFile(name, signal).catch(faultless);
      if (file === null) continue;
      const identity = file.identity();
      const isGiven = () => this.#rehash.holds(name, identity) && this.#gate.refusal(name) === null;
      if (this.#rehash.holds(name, identity)) return new LocalFile(name, file, identity, isGiven);
      file.close();
    }
    return null;
  }
}

/** The search among the copies meets the same fault, and says what it means. */
function faultless(error: unknown): null {
  if (error instanceof StorageError) return null;
  throw error;
}
