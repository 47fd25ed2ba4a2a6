import { HoldfastError } from '../core/blob/errors.ts';
import type { NamedHash } from '../core/blob/ids.ts';

/** Somebody who waits until a version hash is final. */
export interface SubscriptionEntry extends NamedHash {
  readonly id: string;
  /** Scheme, host and port of the receiver: its path may carry a token. */
  readonly receiver: string;
  readonly createdAt: string;
  /** Why the receiver did not take the notice, and how often it was tried since the start; null: it was not tried. */
  readonly undelivered: { readonly tries: number; readonly why: string } | null;
}

/** What is said to whoever subscribes. */
export interface NewSubscription extends SubscriptionEntry {
  /** Signs the notice, as Standard Webhooks do. The list of subscriptions does not show it. */
  readonly secret: string;
}

/** The notices of finality that are still to be delivered. */
export interface SubscriptionView {
  /** So many subscriptions may wait at a time. */
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
