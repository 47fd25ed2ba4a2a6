import { type BigIntStats, close, closeSync, fstatSync, open, read } from 'node:fs';
import { codeOf } from '../../core/blob/errors.ts';
import type { FileIdentity } from '../../verify/verified-blob.ts';
import { assertRegular, READ_FLAGS } from './regular-file.ts';

/** A blob's file, open for reading in parts. What replaces it meanwhile is another file. */
export class OpenBlobFile {
  readonly #descriptor: number;
  #isClosed = false;
  #reading = 0;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** null: there is no such file. */
  static async open(path: string): Promise<OpenBlobFile | null> {
    return await new Promise((resolve, reject) => {
      open(path, READ_FLAGS, (error, descriptor) => {
        if (error === null) {
          try {
            resolve(OpenBlobFile.#ofRegular(descriptor, path));
          } catch (cause) {
            reject(cause);
          }
        } else if (codeOf(error) === 'ENOENT') resolve(null);
        else reject(error);
      });
    });
  }

  static #ofRegular(descriptor: number, path: string): OpenBlobFile {
    try {
      assertRegular(fstatSync(descriptor), path);
      return new OpenBlobFile(descriptor);
    } catch (error) {
      close(descriptor, () => undefined);
      throw error;
    }
  }

  /** Identity of an open file. The system has it in memory, so the disk is not accessed. */
  identity(): FileIdentity {
    const { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats = fstatSync(this.#descriptor, { bigint: true });
    return { device: dev, inode: ino, sizeBytes: size, mtimeNs, ctimeNs };
  }

  /** Reports whether the file has no name any more: an eviction took it, or another file has its name. */
  isUnlinked(): boolean {
    return fstatSync(this.#descriptor).nlink === 0;
  }

  /** Reads into a buffer and returns the number of bytes, smaller than the buffer at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number> {
    this.#reading += 1;
    return new Promise((resolve, reject) => {
      read(this.#descriptor, into, 0, into.length, position, (error, bytesRead) => {
        this.#reading -= 1;
        if (this.#isClosed) this.#release();
        if (error === null) resolve(bytesRead);
        else reject(error);
      });
    });
  }

  /** A second call does nothing; what is being read is read to its end first. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release();
  }

  /** At once: the way to another thread and back takes longer. */
  #release(): void {
    if (this.#reading > 0) return;
    try {
      closeSync(this.#descriptor);
    } catch {
      // Closing a file that was only read has no error to report.
    }
  }
}
