import type { BackfillSource } from '../backfill/source/backfill-source.ts';
import { BucketSource } from '../backfill/source/bucket-source.ts';
import { SourceError } from '../backfill/source/errors.ts';
import { FolderSource } from '../backfill/source/folder-source.ts';
import { PEER } from '../backfill/source/peer-http.ts';
import { PeerSource } from '../backfill/source/peer-source.ts';
import { parseSource, type SourceWords } from '../backfill/source/source-syntax.ts';
import { addressWithoutCredentials, type PeerSettings, peersOf, type SettingValues } from '../config/index.ts';
import { Peer, type PeerModules } from '../federation/peer.ts';
import { invalid, openBucket, secretFileOf } from './open-backends.ts';

/**
 * The source that a text names, ready to be asked; null for `node`, which the archive has itself.
 * @throws SourceError `source/bad-syntax`, `source/unreadable`; ConfigError where a bucket has no settings.
 */
export async function openSource(
  settings: SettingValues,
  text: string,
  token: string | null = null,
): Promise<BackfillSource | null> {
  const words = parseSource(text);
  switch (words.kind) {
    case 'node':
      return null;
    case 'peer':
      return new PeerSource(words.url, PEER, token);
    case 's3':
      return await bucketSource(settings, words);
    case 'dir':
      return await FolderSource.open(words.path);
    default:
      return words satisfies never;
  }
}

/**
 * The peers that `HOLDFAST_PEERS` names; an address alone is another archive.
 * @throws SourceError `source/bad-syntax`, `source/unreadable`; ConfigError where a bucket has no settings, or a token cannot
 * be read or sent.
 */
export async function openPeers(
  settings: SettingValues,
  modules: Omit<PeerModules, 'ratePerSecond' | 'called'>,
): Promise<Peer[]> {
  const peers: Peer[] = [];
  for (const given of peersOf(settings.peers)) {
    const word = given.source;
    const source = await openSource(settings, /^https?:/.test(word) ? `peer=${word}` : word, await tokenOf(given));
    if (source === null) throw notAPeer(word);
    const ratePerSecond = given.requestsPerSecond ?? settings.peerRequestsPerSecond;
    peers.push(new Peer(source, { ...modules, ratePerSecond, called: given.name }));
  }
  return peers;
}

async function tokenOf({ source, name, token, tokenFile }: PeerSettings): Promise<string | null> {
  const owner = `peer ${name ?? addressWithoutCredentials(source)}`;
  const given = tokenFile === null ? token : await secretFileOf(owner, tokenFile);
  if (given === null || /^[\x21-\x7e]+$/.test(given)) return given;
  throw invalid(
    `The token of the ${owner} is empty, or has characters that no request can carry.`,
    'A token is one word of letters, digits and signs. Look at its file.',
  );
}

function notAPeer(word: string): SourceError {
  return new SourceError('source/bad-syntax', `HOLDFAST_PEERS names ${JSON.stringify(word)}, which is no peer.`, {
    retryable: false,
    hint: 'Name nodes in HOLDFAST_NODE_URL, and archives, buckets or folders here.',
  });
}

async function bucketSource(settings: SettingValues, words: SourceWords & { kind: 's3' }): Promise<BackfillSource> {
  const { bucket, prefix, backend } = words;
  // A bucket read in the wrong layout would seem to be empty: where it is not said, both are looked at.
  const layouts = words.layout === null ? (['holdfast', 'sentinel'] as const) : [words.layout];
  const stores = await Promise.all(layouts.map((layout) => openBucket(settings, { bucket, prefix, backend, layout })));
  // Another layout or endpoint is another source, which has its own name and is asked by itself.
  const said = new URLSearchParams({
    ...(words.layout === null ? {} : { layout: words.layout }),
    ...(backend === null ? {} : { backend }),
  });
  const name = `s3 ${bucket}${prefix === '' ? '' : `/${prefix}`}${said.size === 0 ? '' : `?${said}`}`;
  return new BucketSource(name, stores);
}
