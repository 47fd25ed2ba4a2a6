import type { ContentName, VersionHash } from '../../src/core/blob/ids.ts';
import type { KeepBytes, KeptBytes } from './kept-bytes.ts';
import { type Branch, bytesOf, FIRST_HEIGHT, type SubmittedContent } from './simulated-chain.ts';

/** Known to the simulation alone: every blob that was ever submitted, and the chain that the network agrees on. */
export class Truth {
  readonly main: Branch;
  /** Contents by their hash: labels are never shared between hash types. */
  readonly contents = new Map<VersionHash, SubmittedContent>();
  /** An operator was told that it is withheld. */
  readonly withheld = new Set<VersionHash>();
  /** A take-down of these was begun or taken back once: what becomes of their bytes is the operator's doing. */
  readonly touched = new Set<VersionHash>();
  /** Number of reorganisations until now. */
  reorganisations = 0;
  /** Files and rows that the simulation changed and the archiver has not rewritten; since when. */
  readonly harmedFiles = new Map<string, number>();
  /** Files whose bits changed and whose times did not, and since when. A rewrite of the file ends it. */
  readonly rottenSinceMs = new Map<string, number>();
  readonly #bytes = new Map<VersionHash, KeptBytes>();
  readonly #keep: KeepBytes;

  readonly #mined = new Map<VersionHash, number>();
  #minedTo: { readonly height: number; readonly hash: string } | null = null;

  constructor(main: Branch, keep: KeepBytes) {
    this.main = main;
    this.#keep = keep;
  }

  /** The archiver rewrote or deleted it: a claim about it has no excuse any more. Gives the undo. */
  unharm(versionHash: string): () => void {
    const [harmedMs, rottenMs] = [this.harmedFiles.get(versionHash), this.rottenSinceMs.get(versionHash)];
    this.harmedFiles.delete(versionHash);
    this.rottenSinceMs.delete(versionHash);
    return () => {
      if (harmedMs !== undefined) this.harmedFiles.set(versionHash, harmedMs);
      if (rottenMs !== undefined) this.rottenSinceMs.set(versionHash, rottenMs);
    };
  }

  note(content: SubmittedContent): void {
    this.contents.set(content.versionHash, content);
  }

  bytes(versionHash: VersionHash): Uint8Array | null {
    const known = this.#bytes.get(versionHash);
    if (known !== undefined) return known();
    const found = this.contents.get(versionHash);
    if (found === undefined) return null;
    const bytes = bytesOf(found.content);
    this.#bytes.set(versionHash, this.#keep(bytes));
    return bytes;
  }

  isTrue(name: ContentName, held: Uint8Array | KeptBytes | null): boolean {
    const expected = this.bytes(name.versionHash);
    const bytes = typeof held === 'function' ? held() : held;
    return bytes !== null && expected !== null && Buffer.compare(expected, bytes) === 0;
  }

  /** Each content of these heights as often as it is on chain. */
  occurrences(from: number, to: number): ContentName[] {
    const found: ContentName[] = [];
    for (let height = from; height <= to; height += 1) {
      for (const { content } of this.main.chain.tree.at(height)?.transactions ?? []) {
        const submitted = content === null ? undefined : this.contents.get(content.versionHash);
        if (submitted !== undefined) found.push(submitted);
      }
    }
    return found;
  }

  /** Contents of the followed branch, by the height of their first block from where the walk begins. */
  mined(): ReadonlyMap<VersionHash, number> {
    const { tree, tip } = this.main.chain;
    // Only what a reorganisation has left is read again: a block of long ago lies packed.
    if (this.#minedTo !== null && tree.at(this.#minedTo.height)?.hash !== this.#minedTo.hash) {
      this.#mined.clear();
      this.#minedTo = null;
    }
    for (let height = (this.#minedTo?.height ?? FIRST_HEIGHT - 1) + 1; height <= tip.height; height += 1) {
      for (const { content } of tree.at(height)?.transactions ?? []) {
        if (content !== null && !this.#mined.has(content.versionHash)) this.#mined.set(content.versionHash, height);
      }
    }
    this.#minedTo = { height: tip.height, hash: tip.hash };
    return this.#mined;
  }
}
