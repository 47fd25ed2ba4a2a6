import { z } from 'zod';
import { HASH_TYPES } from '../../core/blob/ids.ts';
import type { SubscriptionEntry, SubscriptionView } from '../../view/subscription-view.ts';
import { jsonAnswer } from '../answer.ts';
import { HASH_TEXT, NAMED_HASH, NOTHING } from '../parameters.ts';
import { defineDeleteRoute, definePostRoute, defineRoute, type Route } from '../route.ts';

const SUBSCRIPTION = z.object({
  id: z.uuid(),
  versionHash: HASH_TEXT,
  hashType: z.enum(HASH_TYPES).nullable(),
  /** Scheme, host and port: the path may carry a token. */
  receiver: z.string(),
  createdAt: z.iso.datetime(),
  undelivered: z.object({ tries: z.int(), why: z.string() }).nullable(),
});
const MAX_URL_CHARACTERS = 2_000;
const MAX_BYTES = 8_192;
const ASKED = z.strictObject({
  versionHash: NAMED_HASH.shape.versionHash,
  url: z
    .string()
    .max(MAX_URL_CHARACTERS)
    .refine(
      (url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol),
      'must be an http:// or https:// URL',
    ),
});
const PATH = '/admin/subscriptions';

/** Webhooks that are told once when a version hash is final. */
export function subscriptionRoutes(subscriptions: SubscriptionView): Route[] {
  return [
    defineRoute({
      path: PATH,
      access: 'admin',
      says: 'The subscriptions to finality that wait, the oldest first, and how many may wait at most.',
      answers: [
        {
          mediaType: 'application/json',
          schema: z.object({ max: z.int(), subscriptions: z.array(SUBSCRIPTION) }),
        },
      ],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      answer: () => jsonAnswer({ max: subscriptions.max, subscriptions: subscriptions.list().map(onWire) }),
    }),
    definePostRoute({
      path: PATH,
      access: 'admin',
      says: 'Posts to `url` once when an occurrence of the hash is final, also after a restart. `secret` verifies the signature. The same hash and URL again give the subscription that waits already.',
      answers: [{ mediaType: 'application/json', schema: SUBSCRIPTION.extend({ secret: z.string() }) }],
      problems: ['subscriptions/full', 'malformed/version-hash'],
      parameters: NOTHING,
      query: NOTHING,
      body: ASKED,
      maxBytes: MAX_BYTES,
      answer({ body: { versionHash: name, url } }) {
        const { secret, ...entry } = subscriptions.subscribe(name, url);
        return jsonAnswer({ ...onWire(entry), secret });
      },
    }),
    defineDeleteRoute({
      path: `${PATH}/:id`,
      access: 'admin',
      says: 'Takes a subscription back, and says which one it was.',
      answers: [{ mediaType: 'application/json', schema: SUBSCRIPTION }],
      problems: ['subscriptions/unknown'],
      parameters: z.object({ id: z.string() }),
      query: NOTHING,
      answer: ({ parameters: { id } }) => jsonAnswer(onWire(subscriptions.cancel(id))),
    }),
  ];
}

function onWire(entry: SubscriptionEntry): z.input<typeof SUBSCRIPTION> {
  const { id, versionHash, hashType, receiver, createdAt, undelivered } = entry;
  return { id, versionHash, hashType, receiver, createdAt, undelivered };
}
