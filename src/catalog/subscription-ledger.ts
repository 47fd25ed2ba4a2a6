import { z } from 'zod';
import { HASH_TYPES, type NamedHash, parseVersionHash } from '../core/blob/ids.ts';
import type { Tables } from './tables.ts';

/** A receiver that is to be told once when a version hash is final. */
export interface Subscription extends NamedHash {
  readonly id: string;
  /** May carry a token. */
  readonly url: string;
  /** Signs the notice. */
  readonly secret: string;
  readonly createdMs: number;
}

const FOLDER = 'subscription';
const kept = z.object({
  versionHash: z.string().transform(parseVersionHash),
  hashType: z.enum(HASH_TYPES).nullable(),
  url: z.string(),
  secret: z.string(),
  createdMs: z.number(),
});

/** The subscriptions that wait, a fact each; every change is one durable transaction. */
export class SubscriptionLedger {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  all(): Subscription[] {
    const { facts, reading } = this.#tables;
    const found = reading('read the subscriptions', () => facts.below(FOLDER, kept));
    return [...found].map(([id, subscription]) => ({ id, ...subscription }));
  }

  put({ id, ...subscription }: Subscription): void {
    const { facts, transaction } = this.#tables;
    transaction('record a subscription', () => facts.put(`${FOLDER}/${id}`, subscription));
  }

  remove(id: string): void {
    const { facts, transaction } = this.#tables;
    transaction('remove a subscription', () => facts.forget(`${FOLDER}/${id}`));
  }
}
