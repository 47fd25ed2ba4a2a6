import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';

/** Bytes that clients submitted, which cannot be computed again. */
export interface SubmittedBytes {
  keep(name: ContentName, bytes: Uint8Array): void;
  read(name: ContentName): Uint8Array;
  forget(name: ContentName): void;
  /** Deletes all bytes except those for which `isUsed` is true. */
  sweep(isUsed: (hashType: HashType, versionHash: string) => boolean): void;
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
    // Memory holds nothing of an earlier process.
  }
}

export class BytesInFolder implements SubmittedBytes {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /**
   * Writes to a temporary file and renames it. The journal names the bytes afterwards, so it never names missing bytes.
   */
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

  sweep(isUsed: (hashType: HashType, versionHash: string) => boolean): void {
    for (const file of readdirSync(this.#folder)) {
      const [type, versionHash = ''] = file.split('-');
      const hashType: HashType = type === 'blake2s256' ? 'blake2s256' : 'keccak256';
      if (file.endsWith('.part') || !isUsed(hashType, versionHash)) rmSync(join(this.#folder, file), { force: true });
    }
  }

  #path(name: ContentName): string {
    return join(this.#folder, `${name.hashType}-${name.versionHash}`);
  }
}
