import type { ContentName, HashType, VersionHash } from '../../src/core/blob/ids.ts';
import type { ProvenFile } from '../../src/view/archive-view.ts';
import { FakeArchiveView } from './fake-archive-view.ts';

const PAGE_BYTES = 4_096;

/** A proven file, of bytes that its position tells: more of them than a kernel takes cost no memory. */
class FakeFile implements ProvenFile {
  readonly hashType: HashType;
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  readonly #view: FileView;
  #isClosed = false;

  constructor({ hashType, versionHash }: ContentName, view: FileView) {
    this.hashType = hashType;
    this.versionHash = versionHash;
    this.sizeBytes = view.sizeBytes;
    this.#view = view;
    view.opened += 1;
  }

  async read(into: Uint8Array, position: number): Promise<void> {
    this.#view.reads += 1;
    if (position + into.length > this.#view.changedFrom) throw new Error('it changed');
    fillPages(into, position);
  }

  close(): void {
    if (!this.#isClosed) this.#view.opened -= 1;
    this.#isClosed = true;
  }
}

/** Each page of 4,096 bytes has a byte of its own. `position` is the beginning of one. */
function fillPages(into: Uint8Array, position: number): void {
  for (let at = 0; at < into.length; at += PAGE_BYTES) {
    into.fill(Math.floor((position + at) / PAGE_BYTES) % 251, at, Math.min(at + PAGE_BYTES, into.length));
  }
}

/** An archive whose one blob lies in a file that is proven. */
export class FileView extends FakeArchiveView {
  name: ContentName;
  readonly sizeBytes: number;
  opened = 0;
  /** Parts that were read. */
  reads = 0;
  /** From here on it is not what was proven any more. */
  changedFrom = Number.POSITIVE_INFINITY;

  constructor(name: ContentName, sizeBytes: number, cacheBytes = 0) {
    super(cacheBytes);
    this.name = name;
    this.sizeBytes = sizeBytes;
  }

  override async provenFile(): Promise<ProvenFile> {
    return new FakeFile(this.name, this);
  }

  /** The bytes of a reader that gets all of it. */
  whole(): Buffer {
    const bytes = Buffer.allocUnsafe(this.sizeBytes);
    fillPages(bytes, 0);
    return bytes;
  }
}
