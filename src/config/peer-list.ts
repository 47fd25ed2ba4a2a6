import { z } from 'zod';
import { text, wholeNumber } from './setting.ts';

/** An archive, alone among the kinds of peers, can be sent a token. */
const ARCHIVE = /^(peer=)?https?:\/\//;

const peer = z
  .strictObject({
    /** One word of `HOLDFAST_PEERS`: `https://archive.example`, `s3=bucket`, `dir=/path`. */
    source: z.string('must be text').regex(/^[^\s,]+$/, 'must name one archive, bucket or folder, without spaces'),
    name: z
      .string('must be text')
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be a short name in letters, digits, . _ -')
      .nullable()
      .default(null),
    token: text.nullable().default(null),
    /** Path of a file that holds the token, so that the configuration file holds no secret. */
    tokenFile: text.nullable().default(null),
    requestsPerSecond: wholeNumber(1, 1_000).nullable().default(null),
  })
  .refine(({ token, tokenFile }) => token === null || tokenFile === null, 'must not have both token and tokenFile')
  .refine(
    ({ source, token, tokenFile }) => (token === null && tokenFile === null) || ARCHIVE.test(source),
    'must be an archive (https://…) to have a token: buckets and folders take none',
  )
  .refine(
    ({ source, token, tokenFile }) => (token === null && tokenFile === null) || !source.includes('@'),
    'must not have both a token and a password in its address',
  );

/** Peers as one text has them, separated by spaces or commas. */
export const peerWords = text.meta({ examples: ['https://archive.example s3=bucket dir=/path'] });

/** Peers with what only the configuration file can say of them. */
export const peerList = z
  .array(peer, 'must be text, or a list of peers')
  .max(64, 'names more than 64 peers')
  .refine((peers) => {
    // One without a name is called by its place in the list, in public.
    const names = peers.map(({ name }, index) => (name ?? `peer-${index + 1}`).toLowerCase());
    return new Set(names).size === names.length;
  }, 'gives two peers one name');

export type PeerSettings = z.output<typeof peer>;

/** The peers of the setting, however it was given. */
export function peersOf(given: string | readonly PeerSettings[] | null): readonly PeerSettings[] {
  if (given !== null && typeof given !== 'string') return given;
  const words = (given ?? '').split(/[\s,]+/).filter((word) => word !== '');
  return words.map((source) => ({ source, name: null, token: null, tokenFile: null, requestsPerSecond: null }));
}
