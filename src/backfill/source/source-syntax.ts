import { isAbsolute } from 'node:path';
import { SourceError } from './errors.ts';

/** A source that `--source` names. */
export type SourceWords =
  | { readonly kind: 'node' }
  | { readonly kind: 'peer'; readonly url: URL }
  | {
      readonly kind: 's3';
      readonly bucket: string;
      readonly prefix: string;
      /** null: either. */
      readonly layout: 'holdfast' | 'sentinel' | null;
      /** Id of the configured backend whose endpoint and credentials are used; null: those of the plain settings. */
      readonly backend: string | null;
    }
  | { readonly kind: 'dir'; readonly path: string };

/**
 * `node` · `peer=https://archive.example[/vh/]` · `s3=<bucket>[/<prefix>][?layout=sentinel&backend=<id>]` · `dir=/path`.
 * @throws SourceError `source/bad-syntax`
 */
export function parseSource(text: string): SourceWords {
  if (text === 'node') return { kind: 'node' };
  const [, kind, rest = ''] = /^(peer|s3|dir)=(.+)$/s.exec(text) ?? [];
  switch (kind) {
    case 'peer':
      return { kind, url: peerUrl(rest) };
    case 's3':
      return { kind, ...bucketWords(rest) };
    case 'dir':
      if (!isAbsolute(rest)) throw bad('A folder is named by its whole path.');
      return { kind, path: rest };
    default:
      throw bad(`${JSON.stringify(text.replace(/\/\/.*@/s, '//***@').slice(0, 120))} is no source.`);
  }
}

function peerUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw bad('A peer is named by an http:// or https:// address.');
  }
  if (url.search !== '' || url.hash !== '') throw bad('The address of a peer has no query and no fragment.');
  return url;
}

/** Bucket, prefix and `?backend=<id>` of a place for files of any kind, as `s3=` has them. @throws SourceError `source/bad-syntax` */
export function parseBucket(text: string): { bucket: string; prefix: string; backend: string | null } {
  const { bucket, prefix, layout, backend } = bucketWords(text);
  if (layout !== null) throw bad('A layout is of blobs: leave it out here.');
  return { bucket, prefix, backend };
}

function bucketWords(text: string): Omit<SourceWords & { kind: 's3' }, 'kind'> {
  const [place = '', query = ''] = text.split('?', 2);
  const [bucket = '', ...prefix] = place.replace(/\/+$/, '').split('/');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket))
    throw bad(`${JSON.stringify(bucket)} is no name of a bucket.`);
  const words = new URLSearchParams(query);
  const unknown = [...words.keys()].find((key) => key !== 'layout' && key !== 'backend');
  if (unknown !== undefined) throw bad(`A bucket takes layout and backend behind the ?, not ${unknown}.`);
  const layout = words.get('layout');
  if (layout !== null && layout !== 'holdfast' && layout !== 'sentinel') {
    throw bad('The layout of a bucket is holdfast or sentinel.');
  }
  return { bucket, prefix: prefix.join('/'), layout, backend: words.get('backend') };
}

function bad(message: string): SourceError {
  return new SourceError('source/bad-syntax', message, {
    retryable: false,
    hint: 'Give node, peer=https://archive.example, s3=bucket/prefix?layout=sentinel or dir=/path/to/blobs.',
  });
}
