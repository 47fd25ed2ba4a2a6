import type { BackfillSource } from '../backfill/source/backfill-source.ts';
import { BucketSource } from '../backfill/source/bucket-source.ts';
import { SourceError } from '../backfill/source/errors.ts';
import { FolderSource } from '../backfill/source/folder-source.ts';
import { PeerSource } from '../backfill/source/peer-source.ts';
import { parseSource, type SourceWords } from '../backfill/source/source-syntax.ts';
import type { SettingValues } from '../config/index.ts';
import { Peer, type PeerModules } from '../federation/peer.ts';
import { openBucket } from './open-backends.ts';

/**
 * The source that a text names, ready to be asked; null for `node`, which the archive has itself.
 * @throws SourceError `source/bad-syntax`, `source/unreadable`; ConfigError where a bucket has no settings.
 */
export async function openSource(settings: SettingValues, text: string): Promise<BackfillSource | null> {
  const words = parseSource(text);
  switch (words.kind) {
    case 'node':
      return null;
    case 'peer':
      return new PeerSource(words.url);
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
 * @throws SourceError `source/bad-syntax`, `source/unreadable`; ConfigError where a bucket has no settings.
 */
export async function openPeers(settings: SettingValues, modules: Omit<PeerModules, 'ratePerSecond'>): Promise<Peer[]> {
  const words = (settings.peers ?? '').split(/[\s,]+/).filter((word) => word !== '');
  const peers: Peer[] = [];
  for (const word of words) {
    const source = await openSource(settings, /^https?:/.test(word) ? `peer=${word}` : word);
    if (source === null) throw notAPeer(word);
    peers.push(new Peer(source, { ...modules, ratePerSecond: settings.peerRequestsPerSecond }));
  }
  return peers;
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
  return new BucketSource(`s3 ${bucket}${prefix === '' ? '' : `/${prefix}`}`, stores);
}
