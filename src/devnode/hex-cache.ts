import { encodeHexInto } from '../core/blob/hex.ts';
import { bytesOf, type Content } from './chain/content.ts';

/** Hex text of recently requested blobs, within a budget of bytes. */
export class HexCache {
  readonly #budgetBytes: number;
  /** Entries, least recently used first. */
  readonly #prepared = new Map<string, Buffer>();
  #heldBytes = 0;

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes;
  }

  /** Bytes of text that are held now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  hexOf(content: Content): Buffer {
    const key = content.versionHash;
    const hit = this.#prepared.get(key);
    if (hit !== undefined) {
      this.#prepared.delete(key);
      this.#prepared.set(key, hit);
      return hit;
    }
    const ascii = Buffer.allocUnsafeSlow(content.sizeBytes * 2);
    encodeHexInto(bytesOf(content), ascii);
    this.#keep(key, ascii);
    return ascii;
  }

  #keep(key: string, ascii: Buffer): void {
    if (ascii.length > this.#budgetBytes) return;
    this.#prepared.set(key, ascii);
    this.#heldBytes += ascii.length;
    for (const [oldest, held] of this.#prepared) {
      if (this.#heldBytes <= this.#budgetBytes) break;
      this.#prepared.delete(oldest);
      this.#heldBytes -= held.length;
    }
  }
}
