import type {
  BlockHash,
  ContentName,
  CustomBytes,
  CustomName,
  HashType,
  NamedHash,
  TxId,
  VersionHash,
} from '../core/blob/ids.ts';
import type { SenderScript } from '../core/blob/sender.ts';
import type { Condition } from '../core/conditions/condition.ts';
import type { AttestationStatement } from '../verify/attestation.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { OutageReport } from './outage-report.ts';

/**
 * `seen`: listed or on chain, and not fetched yet. `spooled`: verified and durable. `stored`: also fetched back and
 * re-hashed on as many backends as are required. `withheld`: taken down by an operator, whatever is held.
 * `not-archived-by-rule`: a rule of the operator leaves it out, so that it is neither fetched nor held.
 */
export type ContentState = 'seen' | 'spooled' | 'stored' | 'withheld' | 'not-archived-by-rule';

/** State of one content on a backend. */
export interface ReplicaRecord {
  readonly backend: string;
  /** `not-replicated-by-rule`: the rule of the backend leaves the content out, and no copy there is known. */
  readonly state: 'wanted' | 'good' | 'damaged' | 'not-replicated-by-rule';
  /** When the bytes were last fetched back from there and re-hashed; ISO 8601. */
  readonly verifiedAt: string | null;
  /** Reason why the copy is not good yet; null: no attempt at it has failed since it was good last. */
  readonly lastFailure: Failure | null;
}

/** Reason why the last attempt failed, and the number of attempts. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly attempts: number;
}

/** One output that commits to the content. */
export interface OccurrenceStatus {
  /** `mined`: in a block of the branch that we follow; `final`: for good, by the rule that the operator states. */
  readonly state: 'unconfirmed' | 'mined' | 'final';
  readonly txid: TxId;
  /** null: in no block that we know. */
  readonly vout: number | null;
  readonly height: number | null;
  readonly blockHash: BlockHash | null;
  readonly medianTimeSeconds: number | null;
  /** Scripts that its transaction spends from, where they are known. */
  readonly senders?: readonly SenderScript[];
}

export interface OccurrencePage {
  readonly occurrences: readonly OccurrenceStatus[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

export interface ContentRecord extends OccurrencePageOfRecord {
  readonly versionHash: VersionHash;
  /** null: only listed so far, and a list does not say which hash it is. */
  readonly hashType: HashType | null;
  readonly state: ContentState;
  /** Reason that the operator published for a withheld content. */
  readonly publicReason: string | null;
  /** For `not-archived-by-rule`: the rule of that time, in a sentence. null otherwise. */
  readonly rule: string | null;
  /** The most that it can be where no list has named it. */
  readonly sizeBytes: number;
  /** The transaction that the node's list named. */
  readonly listedTxid: TxId | null;
  /** Median time that the node gave the blob, seconds; the node may prune it 21,600 s later on the chain's clock. */
  readonly medianTimeSeconds: number | null;
  readonly seenAt: string;
  readonly spooledAt: string | null;
  readonly storedAt: string | null;
  /** The peer that gave the bytes because the nodes lacked them; null for a node, or for a backend of this archive. */
  readonly givenBy: string | null;
  readonly replicas: readonly ReplicaRecord[];
  /** Reason why the bytes are not here yet, and the number of attempts. */
  readonly lastFailure: Failure | null;
}

/** The first occurrences; the others by `nextOccurrences`. */
interface OccurrencePageOfRecord {
  readonly occurrences: readonly OccurrenceStatus[];
  readonly nextOccurrences: string | null;
}

/** Reason why a question cannot be answered now. None of them means that the content is absent. */
export type UnavailableReason = 'not-fetched-yet' | 'damaged' | 'store-fault' | 'cannot-tell';

export interface Unavailable {
  readonly kind: 'unavailable';
  readonly reason: UnavailableReason;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** Taken down by an operator: the content is not served. */
export interface Withheld {
  readonly kind: 'withheld';
  /** Since when; null: only the name is known. */
  readonly at: string | null;
  /** Reason that the operator published; null without one. */
  readonly publicReason: string | null;
}

export interface RecordedAbsence {
  readonly recordedAt: string;
  /** Sources that answered that they lack the bytes. */
  readonly sources: readonly string[];
}

/** No source had the bytes when their deadline passed, and that is recorded. */
export interface Lost {
  readonly kind: 'lost';
  readonly loss: RecordedAbsence;
}

/** A rule of the operator leaves it out: it is not held here, and that says nothing of other archives. */
export interface LeftOut {
  readonly kind: 'not-archived-by-rule';
  readonly since: string;
  /** The rule of that time, in a sentence. */
  readonly rule: string;
}

/** `absent` is proved: list current, catalog does not know it, and every backend answered that it has not got it. */
export type NotGiven = { readonly kind: 'absent' } | Withheld | Lost | LeftOut | Unavailable;

export type RecordLookup = { readonly kind: 'found'; readonly record: ContentRecord } | NotGiven;

/** Opaque to clients; stable while the catalog lives. */
export interface ListingPage {
  readonly records: readonly ContentRecord[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

export interface ListingQuery {
  /** A `next` of an earlier page. */
  readonly after: string | null;
  /** 1 to 1,000. */
  readonly limit: number;
  readonly order: 'oldest' | 'newest';
}

/** State of replication to one backend. */
export interface BackendStatus {
  readonly id: string;
  /** `not-admitted`: not reached or not bound yet; `left-alone`: it failed, and is tried again after a pause. */
  readonly state: 'good' | 'not-admitted' | 'left-alone';
  /** Blobs that the backend still has to hold or to have repaired. */
  readonly queued: number;
  /** Seconds on the chain's clock since the block of the oldest queued blob; null: none is queued, or no tip is known. */
  readonly oldestQueuedSeconds: number | null;
  /** Copies there that were found missing or wrong, and are not replaced yet. */
  readonly damaged: number;
  /** Room on its disk, as its server told it when the canary last ran; null: it does not tell (S3), or is not in use. */
  readonly freeBytes: number | null;
  /** The rule of which blobs are replicated there, in a sentence; null: all of them are. */
  readonly rule: string | null;
}

/** State of a peer: another archive, a bucket or a folder that is asked for content that the nodes lack. */
export interface PeerStatus {
  readonly name: string;
  /**
   * `left-alone`: it gave wrong bytes, and is asked for nothing for some time. `silent`: it did not answer the last question.
   * `not-asked`: it has been asked nothing since the start.
   */
  readonly state: 'good' | 'silent' | 'left-alone' | 'not-asked';
  /** null: it is not left alone. */
  readonly leftAloneUntil: string | null;
  /** Blobs and bytes that it gave, those of audits included. */
  readonly gave: number;
  readonly gaveBytes: number;
  /** Blobs that it answered it has not got, or may not give out. */
  readonly absent: number;
  readonly withheld: number;
  readonly wrongBytes: number;
  /** The last comparison of inventories; null: none yet, or the peer is no Holdfast. */
  readonly compared: PeerComparison | null;
  /** Occurrences that were drawn from the chain since the start, and what the peer gave of them; null: none. */
  readonly audited: PeerAudits | null;
}

export interface PeerAudits {
  /** Time of the last comparison. */
  readonly at: string;
  readonly samples: number;
  readonly outcomes: Readonly<
    Record<'good' | 'absent' | 'withheld' | 'not-archived-by-rule' | 'wrong-bytes' | 'no-proof' | 'no-answer', number>
  >;
}

/** Result of comparing a peer's holdings with this archive's. */
export interface PeerComparison {
  readonly at: string;
  /** When one last came to its end, of this process; before that, when its first began. */
  readonly endedAt: string;
  /**
   * `whole`: every height that both archives have was compared. `partial`: it ended early, so that the counts below are
   * lower bounds. `none`: the archives share no height, or not the chain.
   */
  readonly extent: 'whole' | 'partial' | 'none';
  /** Heights that both archives have; null: there were none. */
  readonly from: number | null;
  readonly to: number | null;
  /** Occurrences that only one of the two holds. */
  readonly onlyThere: number;
  readonly onlyHere: number;
  /** Contents that only the peer held: they came from it and hash to their names. */
  readonly fetched: number;
  /** Contents among them that the peer then denied having. */
  readonly notGiven: number;
  /** Contradiction of its inventory with the chain; null without one. */
  readonly contradiction: string | null;
}

export interface ArchiveStatus {
  readonly version: string;
  /** true: the chain is the built-in emulation; nothing of it is real. */
  readonly emulated: boolean;
  readonly node: {
    readonly name: string;
    readonly reachable: boolean;
    readonly height: number | null;
    readonly tip: BlockHash | null;
    readonly medianTimeSeconds: number | null;
    readonly lastAnswerAt: string | null;
    /** Bytes and calls that the archive has cost the node since the start. */
    readonly calls: Readonly<Record<string, number>>;
  };
  readonly chain: {
    readonly genesis: BlockHash | null;
    /** Network as the node names it: `main`, `test`, `regtest`; null before a node has answered. */
    readonly network: string | null;
    /** Height at which the walk began, for good; null before it begins. */
    readonly startHeight: number | null;
    /** Height up to which every block is examined. */
    readonly height: number | null;
    /** Blocks that the node has and the walk has not. */
    readonly lagBlocks: number | null;
    /** `chainlock` or `depth:<n>`. */
    readonly finality: string;
    /** Up to here everything on our branch is final. */
    readonly finalHeight: number | null;
    /** Contents on chain that no source had when their deadline passed. */
    readonly lost: number;
    /** Transactions of version 137 that carry no blob, or several. */
    readonly unclearTransactions: number;
    /** Documents that exist nowhere else, under `audit/<archiver id>/` on every backend with names. */
    readonly evidence: {
      readonly archiverId: string;
      /** Documents that each of them has still to get. */
      readonly waiting: Readonly<Record<string, number>>;
    };
    /** The last gap in what was looked at, ours or the node's, and what it may have cost; null: there was none lately. */
    readonly outage: OutageReport | null;
  };
  readonly list: { readonly sweptAt: string | null; readonly entries: number | null };
  readonly content: {
    readonly seen: number;
    readonly spooled: number;
    readonly stored: number;
    readonly storedBytes: number;
    readonly failing: number;
    /**
     * On chain, not durable here, and half of the time until the node may prune them is over, but not all of it. The
     * condition `chain/overdue` counts the others; null: no tip is known.
     */
    readonly atRisk: number | null;
  };
  /** The operator's rule of what is archived. */
  readonly archiveRule: {
    /** In a sentence; null: everything is archived. */
    readonly says: string | null;
    /** Blobs that it, or an earlier rule, left out. They are neither missing nor lost. */
    readonly notArchived: number;
    /** Since when any is; null: none is. */
    readonly since: string | null;
  };
  /** The data folder. */
  readonly local: {
    readonly mode: 'keep' | 'cache';
    /** Bytes of blobs there, by the catalog. */
    readonly bytes: number;
    /** Limit of a cache in bytes; null: as much as the disk leaves. */
    readonly budgetBytes: number | null;
    /** Free on its volume; null: the system does not say. */
    readonly freeBytes: number | null;
  };
  readonly backends: readonly BackendStatus[];
  readonly peers: readonly PeerStatus[];
  /** The latest signed statement of everything, of which `/v1/attestation` is the whole; null: there is none. */
  readonly attested: Pick<AttestationStatement, 'at' | 'number' | 'from' | 'to' | 'root' | 'counts' | 'key'> | null;
  /** Take-downs of every author. */
  readonly withheld: {
    readonly count: number;
    /** Authors whose records are in force besides this archiver's own: archiver ids, or `file`. */
    readonly others: readonly string[];
    /** When the records of all backends were last read; null: not since the start. */
    readonly readAt: string | null;
  };
  /** Seconds on the chain's clock until the node may prune the most urgent blob that is not durable here; null: none. */
  readonly smallestSlackSeconds: number | null;
  /** The most severe first. */
  readonly conditions: readonly Condition[];
}

/** A file whose bytes are proven in place and need not be held in memory. The caller closes it. */
export interface ProvenFile extends ContentName {
  readonly sizeBytes: number;
  /** Fills all of `into`; rejects when the file is no longer the one that was proven. */
  read(into: Uint8Array, position: number): Promise<void>;
  /** A second call does nothing. */
  close(): void;
}

/** `isLent`: the archive keeps the bytes in memory for all readers until the answer is sent. */
export type GivenBlob =
  | { readonly kind: 'memory'; readonly blob: VerifiedBlob; readonly isLent: boolean }
  | { readonly kind: 'file'; readonly file: ProvenFile };
export interface GivenCustom {
  readonly kind: 'memory';
  readonly blob: CustomBytes;
  readonly isLent: false;
}

/** The answer that bytes are sent with. */
export interface Sending {
  /** Calls back once: the answer is prepared, and begins to go out. Never, where it does not come to that. */
  whenBegun(begun: () => void): void;
  /** Calls back once: the answer is sent, or its reader is gone. At once, where it is gone already. */
  whenSent(done: () => void): void;
  /** Ends it short. Its reader was told how much to expect, and sees that. */
  cut(): void;
}

/** Purpose of a request for bytes, and the memory that it may take. */
export interface Asking {
  readonly signal: AbortSignal;
  /** Waits until so many bytes may be taken into memory, before they are. Rejects when they cannot be had. */
  readonly hold: (bytes: number) => Promise<void>;
  /** Slow readers hold so much that large blobs are better read in parts. */
  readonly isTight: () => boolean;
  /** The answer that borrows bytes already in memory, without room of its own. null: the caller owns the bytes. */
  readonly sending: Sending | null;
}

/** Request of a caller that has made room for the bytes already, or holds them only for a look. */
export const ROOM_IS_MADE: Omit<Asking, 'signal'> = {
  hold: async () => undefined,
  isTight: () => false,
  sending: null,
};

/** The one way to bytes. */
export interface Reader {
  open(name: NamedHash, asking: Asking): Promise<GivenBlob | NotGiven>;
  open(name: CustomName, asking: Asking): Promise<GivenCustom | NotGiven>;
}

/** The program, and the chain as the node names it; null before a node has answered. */
export interface ArchiveIdentity {
  readonly version: string;
  readonly genesis: BlockHash | null;
  readonly network: string | null;
}

/** Queries of the room `http` to the archive. */
export interface ArchiveView {
  readonly reader: Reader;
  /** `occurrencesAfter`: a `nextOccurrences` of this content. */
  record(name: NamedHash, signal: AbortSignal, occurrencesAfter?: string): Promise<RecordLookup>;
  /** Throws `ArchiveError` `archive/bad-cursor` when `after` was not given out by a listing. */
  list(query: ListingQuery): ListingPage;
  /** Reads the catalog. `conditions` and `identity` do not, and may be asked many times a second. */
  status(): ArchiveStatus;
  /** The conditions of the status. */
  conditions(): readonly Condition[];
  identity(): ArchiveIdentity;
}
