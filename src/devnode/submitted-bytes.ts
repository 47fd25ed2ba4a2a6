import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';

/** Bytes that clients submitted: the only ones that cannot be made again. */
export interface SubmittedBytes {
  keep(name: ContentName, bytes: Uint8Array): void;
  read(name: ContentName): Uint8Array;
  forget(name: ContentName): void;
  /** Forgets all that `wanted` does not want. */
  sweep(wanted: (hashType: HashType, versionHash: string) => boolean): void;
}

export class BytesInMemory implements SubmittedBytes {
  readonly #held = new Map<VersionHash, Uint8Array>();

  keep(name: ContentName, bytes: Uint8Array): void {
    this.#held.set(name.versionHash, bytes);
  }

  read(name: ContentName): Uint8Array {
    const bytes = this.#held.get(name.versionHash);
    if (bytes === undefined) throw new Error(`The bytes of ${name.versionHash} were pruned.`);
    return bytes;
  }

  forget(name: ContentName): void {
    this.#held.delete(name.versionHash);
  }

  sweep(): void {
    // Nothing outlives the process here.
  }
}

export class BytesInFolder implements SubmittedBytes {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Written aside and renamed, before the journal names it: a line never names bytes that are not there. */
  keep(name: ContentName, bytes: Uint8Array): void {
    const path = this.#path(name);
    if (existsSync(path)) return;
    const aside = `${path}.part`;
    writeFileSync(aside, bytes);
    renameSync(aside, path);
  }

  read(name: ContentName): Uint8Array {
    return readFileSync(this.#path(name));
  }

  forget(name: ContentName): void {
    rmSync(this.#path(name), { force: true });
  }

  sweep(wanted: (hashType: HashType, versionHash: string) => boolean): void {
    for (const file of readdirSync(this.#folder)) {
      const [type, versionHash = ''] = file.split('-');
      const hashType: HashType = type === 'blake2s256' ? 'blake2s256' : 'keccak256';
      if (file.endsWith('.part') || !wanted(hashType, versionHash)) rmSync(join(this.#folder, file), { force: true });
    }
  }

  #path(name: ContentName): string {
    return join(this.#folder, `${name.hashType}-${name.versionHash}`);
  }
}
