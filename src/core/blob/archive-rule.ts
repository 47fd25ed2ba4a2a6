import type { VersionHash } from './ids.ts';

/** Settings of a rule; null: that part of it is off. */
export interface ArchiveRuleSettings {
  /** Larger blobs are left out. */
  readonly maxBlobBytes: number | null;
  /** Blobs that are archived whatever their size. Without a limit, nothing else is archived. */
  readonly allowed: ReadonlySet<VersionHash> | null;
}

/**
 * The operator's rule of which blobs are archived. It is judged by what a list or a block tells of a blob, before a byte of it
 * is asked for.
 */
export class ArchiveRule {
  /** The rule without which a blob is left out: there is none. */
  static readonly EVERYTHING = new ArchiveRule({ maxBlobBytes: null, allowed: null });

  /** The whole rule in a sentence, as it is recorded with each blob that it leaves out; null: everything is archived. */
  readonly says: string | null;
  readonly #settings: ArchiveRuleSettings;

  constructor(settings: ArchiveRuleSettings) {
    this.#settings = settings;
    this.says = sentenceOf(settings);
  }

  /** Whether a blob's size decides, so that one of unknown size is better asked for after a list has named it. */
  get needsSize(): boolean {
    return this.#settings.maxBlobBytes !== null;
  }

  /** `sizeBytes` null: it is not known yet, and a blob of which the size would decide is not left out. */
  leavesOut(versionHash: VersionHash, sizeBytes: number | null): boolean {
    const { maxBlobBytes, allowed } = this.#settings;
    if (allowed?.has(versionHash) === true) return false;
    if (maxBlobBytes === null) return allowed !== null;
    return sizeBytes !== null && sizeBytes > maxBlobBytes;
  }
}

function sentenceOf({ maxBlobBytes, allowed }: ArchiveRuleSettings): string | null {
  const sized = maxBlobBytes === null ? [] : [`blobs of at most ${maxBlobBytes} bytes`];
  const named = allowed === null ? [] : [`the ${allowed.size} blobs of the allow-list`];
  const archived = [...sized, ...named];
  return archived.length === 0 ? null : `Only ${archived.join(' and ')} are archived.`;
}
