import type { VersionHash } from './ids.ts';
import type { SenderScript, Senders } from './sender.ts';

/** Settings of a rule; null: that part of it is off. */
export interface ArchiveRuleSettings {
  /** Larger blobs are left out. */
  readonly maxBlobBytes: number | null;
  /** Blobs that are taken whatever their size. Without a limit, nothing else is taken. */
  readonly allowed: ReadonlySet<VersionHash> | null;
  /** Blobs that one of these sent are archived whatever their size. Without a limit, no other blob is. Default: null. */
  readonly senders?: ReadonlySet<SenderScript> | null;
}

/**
 * The operator's rule of which blobs are archived, or of which ones a backend takes: each of its parts lets blobs in. The
 * archive's own is judged by what a list or a block tells of a blob, before a byte of it is asked for.
 */
export class ArchiveRule {
  /** The rule without which a blob is left out: there is none. */
  static readonly EVERYTHING = new ArchiveRule({ maxBlobBytes: null, allowed: null });

  /** The whole rule in a sentence, as it is recorded with each blob that it leaves out; null: everything is archived. */
  readonly says: string | null;
  readonly #settings: ArchiveRuleSettings;

  constructor(settings: ArchiveRuleSettings, taken: 'archived' | 'replicated there' = 'archived') {
    this.#settings = settings;
    this.says = sentenceOf(settings, taken);
  }

  /** Equal texts are equal rules, however their lists are ordered. */
  get text(): string {
    const { maxBlobBytes, allowed } = this.#settings;
    const sorted = (names: ReadonlySet<string> | null) => (names === null ? null : [...names].toSorted());
    return JSON.stringify([maxBlobBytes, sorted(allowed), sorted(this.#senders)]);
  }

  /** Whether the size of this blob decides, so that one of unknown size is better asked for after a list has named it. */
  waitsForSize(versionHash: VersionHash, senders: Senders): boolean {
    return this.#settings.maxBlobBytes !== null && this.leavesOut(versionHash, Number.POSITIVE_INFINITY, senders);
  }

  /** Whether senders can decide. */
  get needsSenders(): boolean {
    return this.#senders !== null;
  }

  get #senders(): ReadonlySet<SenderScript> | null {
    return this.#settings.senders ?? null;
  }

  /** Whether it depends on the senders of this blob, so that one of unknown senders is better asked for after a block has it. */
  waitsForSenders(versionHash: VersionHash, sizeBytes: number | null): boolean {
    return this.needsSenders && this.leavesOut(versionHash, sizeBytes, []);
  }

  /** `sizeBytes` or `senders` null: they are not known, and a blob of which they would decide is not left out. */
  leavesOut(versionHash: VersionHash, sizeBytes: number | null, senders: Senders = null): boolean {
    const { maxBlobBytes, allowed } = this.#settings;
    const archived = this.#senders;
    if (allowed?.has(versionHash) === true) return false;
    if (archived !== null && (senders === null || senders.some((sender) => archived.has(sender)))) return false;
    if (maxBlobBytes === null) return allowed !== null || archived !== null;
    return sizeBytes !== null && sizeBytes > maxBlobBytes;
  }
}

function sentenceOf({ maxBlobBytes, allowed, senders = null }: ArchiveRuleSettings, taken: string): string | null {
  const sized = maxBlobBytes === null ? [] : [`blobs of at most ${maxBlobBytes} bytes`];
  const named = allowed === null ? [] : [`the ${allowed.size} blobs of the allow-list`];
  const sent = senders === null ? [] : [`blobs that ${shown([...senders])} sent`];
  const parts = [...sized, ...named, ...sent];
  return parts.length === 0 ? null : `Only ${parts.join(' and ')} are ${taken}.`;
}

function shown([first = '', ...more]: readonly string[]): string {
  return more.length === 0 ? first : `one of ${more.length + 1} scripts (${first}, …)`;
}
