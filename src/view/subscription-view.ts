import { HoldfastError } from '../core/blob/errors.ts';
import type { NamedHash } from '../core/blob/ids.ts';

/** A wait for a version hash to become final. */
export interface SubscriptionEntry extends NamedHash {
  readonly id: string;
  /** Scheme, host and port of the receiver: its path may carry a token. */
  readonly receiver: string;
  readonly createdAt: string;
  /**
   * Reason why the receiver refused the notice, and the number of attempts since the start; null before the first
   * attempt.
   */
  readonly undelivered: { readonly tries: number; readonly why: string } | null;
}

/** Answer to a new subscriber. */
export interface NewSubscription extends SubscriptionEntry {
  /** Signs the notice, as Standard Webhooks do. The list of subscriptions does not show it. */
  readonly secret: string;
}

/** The notices of finality that are still to be delivered. */
export interface SubscriptionView {
  /** Limit of the waiting subscriptions. */
  readonly max: number;
  list(): readonly SubscriptionEntry[];
  /**
   * The same hash and URL again give the subscription that waits already.
   * @throws SubscriptionError `subscriptions/full`
   */
  subscribe(name: NamedHash, url: string): NewSubscription;
  /** @throws SubscriptionError `subscriptions/unknown` */
  cancel(id: string): SubscriptionEntry;
}

export type SubscriptionErrorCode = 'subscriptions/full' | 'subscriptions/unknown';

/** A subscription that is not taken, or not there. */
export class SubscriptionError extends HoldfastError<SubscriptionErrorCode> {}
