import { ArchiveError } from '../../src/core/archive-errors.ts';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { type HashType, type NamedHash, parseVersionHash } from '../../src/core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../src/core/blob/limits.ts';
import type { Condition } from '../../src/core/conditions/condition.ts';
import { type Clock, SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import type { Gate } from '../../src/reading/gate.ts';
import { type BlobFinder, type BlobLookup, type CustomLookup, ProvenReader } from '../../src/reading/proven-reader.ts';
import { hashWith } from '../../src/verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import type {
  ArchiveIdentity,
  ArchiveStatus,
  ArchiveView,
  Asking,
  ContentRecord,
  ListingPage,
  ListingQuery,
  ProvenFile,
  Reader,
  RecordedAbsence,
  RecordLookup,
  Withheld,
} from '../../src/view/archive-view.ts';
import { HASHER } from '../sample-blobs.ts';

/** A blob that is what it says, made the way the archive makes it. */
export function blobOf(bytes: Uint8Array, hashType: HashType = 'keccak256'): VerifiedBlob {
  const versionHash = parseVersionHash(encodeHex(hashWith(HASHER, hashType, bytes)));
  const blob = verifyBlob({ versionHash, hashType, bytes }, HASHER);
  if (blob === null) throw new Error('A blob did not verify against its own hash.');
  return blob;
}

/** More than any kernel takes for a reader that does not read. */
export const HUGE_BYTES = 24 * 1_048_576;

/** Hashing so much takes a second for each test, so no test does. */
export function hugeBlob(): VerifiedBlob {
  const zeros = () => new Uint8Array(32);
  const versionHash = parseVersionHash(encodeHex(zeros()));
  const bytes = new Uint8Array(HUGE_BYTES);
  const blob = verifyBlob(
    { versionHash, hashType: null, bytes },
    { engine: 'zeros', keccak256: zeros, blake2s256: zeros },
  );
  if (blob === null) throw new Error('The zeros do not agree.');
  return blob;
}

export function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 151 + 7) % 256);
}

export function recordOf(blob: VerifiedBlob): ContentRecord {
  return {
    versionHash: blob.versionHash,
    hashType: blob.hashType,
    state: 'stored',
    publicReason: null,
    rule: null,
    sizeBytes: blob.bytes.length,
    listedTxid: null,
    medianTimeSeconds: 1_700_000_000,
    seenAt: '2026-01-01T00:00:00.000Z',
    spooledAt: '2026-01-01T00:00:01.000Z',
    storedAt: '2026-01-01T00:00:02.000Z',
    givenBy: null,
    replicas: [{ backend: 'local', state: 'good', verifiedAt: '2026-01-01T00:00:02.000Z', lastFailure: null }],
    lastFailure: null,
    occurrences: [],
    nextOccurrences: null,
  };
}

export const HEALTHY: ArchiveStatus = {
  version: '0.1.0',
  emulated: true,
  node: {
    name: 'http://127.0.0.1:8370',
    reachable: true,
    height: 12,
    tip: null,
    medianTimeSeconds: 1_700_000_000,
    lastAnswerAt: '2026-01-01T00:00:00.000Z',
    calls: { listnevmblobdata: 3 },
  },
  chain: {
    genesis: null,
    network: 'regtest',
    startHeight: 1,
    height: 12,
    lagBlocks: 0,
    finality: 'chainlock',
    finalHeight: 11,
    lost: 0,
    unclearTransactions: 0,
    evidence: { archiverId: '00'.repeat(8), waiting: {} },
    outage: null,
  },
  list: { sweptAt: null, entries: 2 },
  content: { seen: 1, spooled: 0, stored: 2, storedBytes: 2_000, failing: 0, atRisk: 0 },
  peers: [],
  attested: null,
  archiveRule: { says: null, notArchived: 0, since: null },
  local: { mode: 'keep', bytes: 2_000, budgetBytes: null, freeBytes: 40 * 2 ** 30 },
  backends: [
    { id: 's3', state: 'good', queued: 0, oldestQueuedSeconds: null, damaged: 0, freeBytes: null, rule: null },
  ],
  withheld: { count: 0, others: [], readAt: null },
  smallestSlackSeconds: null,
  conditions: [],
};

type Reading = (name: NamedHash, signal: AbortSignal) => Promise<BlobLookup>;

/** Holds blobs, and answers as a test says. What it was asked is kept. */
export class FakeArchiveView implements ArchiveView, BlobFinder, Gate {
  readonly blobs = new Map<string, VerifiedBlob>();
  readonly asked: { name: NamedHash; signal: AbortSignal }[] = [];
  readonly listed: ListingQuery[] = [];
  readonly losses = new Map<string, RecordedAbsence>();
  readonly reader: Reader;
  /** The gate's answer for every name. */
  refusing: Withheld | null = null;
  custom: CustomLookup = { kind: 'absent' };
  customAsked = 0;
  /** Instead of looking among the blobs. */
  reading: Reading | null = null;
  listing: ((query: ListingQuery) => ListingPage) | null = null;
  now: () => ArchiveStatus = () => HEALTHY;

  constructor(cacheBytes = 0, clock: Pick<Clock, 'steadyMs'> = SYSTEM_CLOCK) {
    this.reader = new ProvenReader(this, new BlobCache(cacheBytes, clock), this);
  }

  add(blob: VerifiedBlob): VerifiedBlob {
    this.blobs.set(blob.versionHash, blob);
    return blob;
  }

  refusal(): Withheld | null {
    return this.refusing;
  }

  async provenFile(): Promise<ProvenFile | null> {
    return null;
  }

  async find(name: NamedHash, { signal, hold }: Asking): Promise<BlobLookup> {
    await hold(MAX_BLOB_BYTES);
    return await this.#look(name, signal);
  }

  /** Nine bytes, whatever is asked for. */
  keepCustom(versionHash: string, keccak: string): void {
    const name = { versionHash: parseVersionHash(versionHash), keccak: parseVersionHash(keccak) };
    this.custom = { kind: 'found', blob: { ...name, bytes: bytesOf(9) } };
  }

  async findCustom(): Promise<CustomLookup> {
    this.customAsked += 1;
    return this.custom;
  }

  async record(name: NamedHash, signal: AbortSignal): Promise<RecordLookup> {
    const lookup = this.refusing ?? (await this.#look(name, signal));
    return lookup.kind === 'found' ? { kind: 'found', record: recordOf(lookup.blob) } : lookup;
  }

  async #look(name: NamedHash, signal: AbortSignal): Promise<BlobLookup> {
    const lookup = await this.#lookAmongBlobs(name, signal);
    const loss = this.losses.get(name.versionHash);
    return lookup.kind === 'found' || loss === undefined ? lookup : { kind: 'lost', loss };
  }

  async #lookAmongBlobs(name: NamedHash, signal: AbortSignal): Promise<BlobLookup> {
    this.asked.push({ name, signal });
    if (this.reading !== null) return this.reading(name, signal);
    const blob = this.blobs.get(name.versionHash);
    if (blob === undefined || (name.hashType !== null && name.hashType !== blob.hashType)) return { kind: 'absent' };
    return { kind: 'found', blob };
  }

  list(query: ListingQuery): ListingPage {
    this.listed.push(query);
    if (this.listing !== null) return this.listing(query);
    if (query.after !== null && query.after !== 'cursor-1') {
      throw new ArchiveError('archive/bad-cursor', 'Row 17 of table content: no such cursor.', {
        retryable: false,
        hint: 'Use a cursor.',
      });
    }
    return { records: [...this.blobs.values()].map(recordOf), next: query.after === null ? 'cursor-1' : null };
  }

  status(): ArchiveStatus {
    return this.now();
  }

  conditions(): readonly Condition[] {
    return this.now().conditions;
  }

  identity(): ArchiveIdentity {
    const { version, chain } = this.now();
    return { version, genesis: chain.genesis, network: chain.network };
  }
}
