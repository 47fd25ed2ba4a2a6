import { randomBytes, randomUUID } from 'node:crypto';
import type { ChainIndex } from '../catalog/chain-index.ts';
import type { PlacedOccurrence } from '../catalog/occurrence-table.ts';
import type { Subscription, SubscriptionLedger } from '../catalog/subscription-ledger.ts';
import type { NotTaken, SignedSender } from '../core/alerts/signed-sender.ts';
import type { BlockHash, HashType, NamedHash, TxId, VersionHash } from '../core/blob/ids.ts';
import { HASH_TYPES } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Notifier } from '../core/notifier.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { ArchiveView, ContentState } from '../view/archive-view.ts';
import type { ChainState } from '../view/chain-state.ts';
import {
  type NewSubscription,
  type SubscriptionEntry,
  SubscriptionError,
  type SubscriptionView,
} from '../view/subscription-view.ts';

export interface FinalNoticeModules {
  readonly archiverId: string;
  /** The rule that calls a block final, as the operator states it. */
  readonly finality: string;
  readonly chain: Pick<ChainState, 'finalHeight' | 'isCurrent'> & {
    readonly moved: Pick<Notifier, 'notifications' | 'notify' | 'wait'>;
  };
  readonly catalog: {
    readonly chain: Pick<ChainIndex, 'occurrences'>;
    readonly subscriptions: Pick<SubscriptionLedger, 'all' | 'put' | 'remove'>;
  };
  readonly archive: Pick<ArchiveView, 'record'>;
  readonly sender: Pick<SignedSender, 'send'>;
  readonly conditions: Pick<ConditionBoard, 'set' | 'setError'>;
  readonly clock: Clock;
}

/** The version of the posted document. A member may be added without another version; none changes its meaning. */
const NOTICE_VERSION = 1;

/** The document that a subscriber gets. */
export interface FinalNotice {
  readonly version: typeof NOTICE_VERSION;
  /** The id of the subscription, and so the same in every try. */
  readonly id: string;
  readonly event: 'final';
  /** When this try was made; ISO 8601. */
  readonly at: string;
  readonly archiver: string;
  readonly versionHash: VersionHash;
  readonly hashType: HashType;
  /** The transaction of the first occurrence on the chain. */
  readonly txid: TxId;
  readonly vout: number;
  readonly height: number;
  readonly blockHash: BlockHash;
  readonly finality: string;
  /** The state of the blob in the archive: final does not mean stored. null: the archive cannot tell now. */
  readonly state: ContentState | 'lost' | null;
}

interface Rest {
  readonly tries: number;
  readonly why: string;
  readonly untilMs: number;
}

interface Due {
  readonly subscription: Subscription;
  readonly occurrence: PlacedOccurrence;
}

/** Each is a fact of some hundred bytes, and is looked up whenever the final height moves. */
const MAX_SUBSCRIPTIONS = 1_000;
/** Receivers that are posted to at a time. */
const MAX_RECEIVERS = 16;
/** A receiver gets no more notices in one turn after so long: the other receivers wait for the end of the turn. */
const TURN_MS = 30_000;
/** Longest pause between two looks, besides those when the chain moved. */
const LOOK_MS = 30_000;
const SUBJECT = 'subscriptions';

/** Tells each subscriber once when an occurrence of its hash is final: signed, repeated until taken, and kept over restarts. */
export class FinalNotices implements SubscriptionView {
  readonly max = MAX_SUBSCRIPTIONS;
  readonly #modules: FinalNoticeModules;
  readonly #waiting: Map<string, Subscription>;
  /** Receivers that did not take the last notice, by URL. */
  readonly #resting = new Map<string, Rest>();
  /** Delivered, and still in the catalog, which could not be written. */
  readonly #delivered = new Set<string>();

  constructor(modules: FinalNoticeModules) {
    this.#modules = modules;
    this.#waiting = new Map(modules.catalog.subscriptions.all().map((subscription) => [subscription.id, subscription]));
  }

  list(): readonly SubscriptionEntry[] {
    return [...this.#waiting.values()]
      .toSorted((a, b) => a.createdMs - b.createdMs)
      .map((subscription) => this.#describe(subscription));
  }

  subscribe(name: NamedHash, url: string): NewSubscription {
    const { versionHash, hashType } = name;
    const known = this.#waiting.values().find((one) => one.url === url && isSameName(one, name));
    if (known !== undefined) return { ...this.#describe(known), secret: known.secret };
    if (this.#waiting.size >= MAX_SUBSCRIPTIONS) {
      throw new SubscriptionError('subscriptions/full', `${MAX_SUBSCRIPTIONS} subscriptions wait already.`, {
        details: { max: MAX_SUBSCRIPTIONS },
        retryable: true,
        hint: 'GET /admin/subscriptions lists them; DELETE takes one back.',
      });
    }
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const createdMs = this.#modules.clock.wallMs();
    const subscription = { id: randomUUID(), versionHash, hashType, url, secret, createdMs };
    this.#modules.catalog.subscriptions.put(subscription);
    this.#waiting.set(subscription.id, subscription);
    this.#modules.chain.moved.notify();
    return { ...this.#describe(subscription), secret };
  }

  cancel(id: string): SubscriptionEntry {
    const known = this.#waiting.get(id);
    if (known === undefined) {
      throw new SubscriptionError('subscriptions/unknown', 'No subscription with this id waits.', {
        retryable: false,
        hint: 'GET /admin/subscriptions lists those that wait; a delivered one is gone.',
      });
    }
    this.#modules.catalog.subscriptions.remove(id);
    this.#forget(known);
    return this.#describe(known);
  }

  /** Delivers until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { conditions, chain } = this.#modules;
    const step = async (): Promise<Next> => {
      this.#removeDelivered();
      const lookedMs = this.#modules.clock.steadyMs();
      const due = Map.groupBy(this.#due(), ({ subscription }) => subscription.url);
      const some = [...due].toSorted(([a], [b]) => this.#triesOf(a) - this.#triesOf(b)).slice(0, MAX_RECEIVERS);
      // All of them end before the next step, so that none is posted twice at a time.
      const ended = await Promise.allSettled(some.map(([url, notices]) => this.#deliver(url, notices, signal)));
      this.#removeDelivered();
      for (const one of ended) if (one.status === 'rejected') throw one.reason;
      const isLeft = ended.some((one) => one.status === 'fulfilled' && one.value === 'more');
      return isLeft || due.size > some.length ? 0 : this.#pauseMs(lookedMs);
    };
    const tell = (error: unknown) => {
      if (error === null) conditions.set(SUBJECT, this.#condition());
      else conditions.setError(SUBJECT, error, false);
    };
    await runLoop(SUBJECT, step, { signal, backoff: BACKOFF.local, wake: chain.moved, tell });
  }

  /** The subscriptions whose hash is final, and whose receiver is not resting. */
  #due(): Due[] {
    const { chain, catalog, clock } = this.#modules;
    const { finalHeight, isCurrent } = chain;
    // While the walk is behind the node, a reorganisation that is not walked yet may take a final block back.
    if (finalHeight === null || !isCurrent) return [];
    const nowMs = clock.steadyMs();
    const due: Due[] = [];
    for (const subscription of this.#waiting.values()) {
      if (this.#delivered.has(subscription.id)) continue;
      if ((this.#resting.get(subscription.url)?.untilMs ?? 0) > nowMs) continue;
      const { versionHash, hashType } = subscription;
      const types = hashType === null ? HASH_TYPES : [hashType];
      const [occurrence] = types
        .flatMap((type) => catalog.chain.occurrences({ hashType: type, versionHash }, null, 1))
        .filter(({ height }) => height <= finalHeight);
      if (occurrence !== undefined) due.push({ subscription, occurrence });
    }
    return due;
  }

  /** Delivers the notices of one receiver until it does not take one. `more`: the turn ended before the notices did. */
  async #deliver(url: string, notices: readonly Due[], signal: AbortSignal): Promise<'done' | 'more'> {
    const { clock } = this.#modules;
    const endMs = clock.steadyMs() + TURN_MS;
    for (const { subscription, occurrence } of notices) {
      if (clock.steadyMs() >= endMs) return 'more';
      const { id, secret } = subscription;
      const notice = await this.#noticeOf(id, occurrence, signal);
      // The archive may have taken time to answer: a reorganisation or an operator may have come first.
      if (!this.#isStillDue(subscription, occurrence)) continue;
      const headers = { 'content-type': 'application/json' };
      const post = { url, secret, id, headers, body: JSON.stringify(notice) };
      const failure = await this.#modules.sender.send(post, signal);
      if (failure !== null) {
        // A subscription that was deleted meanwhile leaves no resting receiver behind.
        if (this.#waiting.has(id)) this.#rest(url, failure);
        return 'done';
      }
      this.#resting.delete(url);
      this.#delivered.add(id);
    }
    return 'done';
  }

  async #noticeOf(id: string, occurrence: PlacedOccurrence, signal: AbortSignal): Promise<FinalNotice> {
    const { archiverId, finality, archive, clock } = this.#modules;
    const { versionHash, hashType, txid, vout, height, blockHash } = occurrence;
    const found = await archive.record({ versionHash, hashType }, signal);
    const at = new Date(clock.wallMs()).toISOString();
    const state =
      found.kind === 'found'
        ? found.record.state
        : found.kind === 'lost' || found.kind === 'withheld' || found.kind === 'not-archived-by-rule'
          ? found.kind
          : null;
    const named = { version: NOTICE_VERSION, id, event: 'final', at, archiver: archiverId } as const;
    return { ...named, versionHash, hashType, txid, vout, height, blockHash, finality, state };
  }

  #isStillDue({ id }: Subscription, { versionHash, hashType, height, blockHash }: PlacedOccurrence): boolean {
    const { chain, catalog } = this.#modules;
    const [first] = catalog.chain.occurrences({ versionHash, hashType }, null, 1);
    const isThere = first?.height === height && first.blockHash === blockHash;
    const isFinal = chain.isCurrent && chain.finalHeight !== null && height <= chain.finalHeight;
    return isThere && isFinal && this.#waiting.has(id);
  }

  #removeDelivered(): void {
    for (const id of this.#delivered) {
      const subscription = this.#waiting.get(id);
      if (subscription !== undefined) this.#forget(subscription);
      this.#modules.catalog.subscriptions.remove(id);
      this.#delivered.delete(id);
    }
  }

  #forget(subscription: Subscription): void {
    this.#waiting.delete(subscription.id);
    const isAlone = this.#waiting.values().every(({ url }) => url !== subscription.url);
    if (isAlone) this.#resting.delete(subscription.url);
  }

  #rest(url: string, { why }: NotTaken): void {
    const tries = this.#triesOf(url) + 1;
    const untilMs = this.#modules.clock.steadyMs() + backoffMs(BACKOFF.blob, tries);
    this.#resting.set(url, { tries, why, untilMs });
  }

  #triesOf(url: string): number {
    return this.#resting.get(url)?.tries ?? 0;
  }

  /**
   * Milliseconds until the next receiver has rested, or until it is time to look whether something is final. A receiver
   * that had rested before the last look had nothing due then. The loop is woken when the chain moves.
   */
  #pauseMs(lookedMs: number): number {
    const nowMs = this.#modules.clock.steadyMs();
    const untilMs = [...this.#resting.values()].map((rest) => rest.untilMs).filter((ms) => ms > lookedMs);
    return Math.max(1, Math.min(nowMs + LOOK_MS, ...untilMs) - nowMs);
  }

  #condition() {
    const failing = [...this.#waiting.values()].filter(({ url }) => this.#resting.has(url));
    const [first] = failing;
    const why = first === undefined ? undefined : this.#resting.get(first.url)?.why;
    if (why === undefined) return null;
    return {
      code: 'subscription/not-delivered',
      message: `${failing.length} subscribers wait for a receiver that does not take notices of finality: ${why}.`,
      hint: 'GET /admin/subscriptions names the receivers. Holdfast tries again, at the latest every 13 minutes; DELETE takes a subscription back.',
      blocksReadiness: false,
    };
  }

  #describe({ id, versionHash, hashType, url, createdMs }: Subscription): SubscriptionEntry {
    const rest = this.#resting.get(url);
    const undelivered = rest === undefined ? null : { tries: rest.tries, why: rest.why };
    return {
      ...{ id, versionHash, hashType, undelivered },
      receiver: new URL(url).origin,
      createdAt: new Date(createdMs).toISOString(),
    };
  }
}

function isSameName(a: NamedHash, b: NamedHash): boolean {
  return a.versionHash === b.versionHash && a.hashType === b.hashType;
}
