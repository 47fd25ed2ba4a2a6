import { expect, test } from 'vitest';
import { candidatesOf } from '../../../src/backfill/source/candidates.ts';
import { parseSource } from '../../../src/backfill/source/source-syntax.ts';

test.each([
  ['node', { kind: 'node' }],
  ['s3=bucket', { kind: 's3', bucket: 'bucket', prefix: '', layout: null, backend: null }],
  [
    's3=old-blobs/a/b/?layout=sentinel&backend=s3:offsite',
    { kind: 's3', bucket: 'old-blobs', prefix: 'a/b', layout: 'sentinel', backend: 's3:offsite' },
  ],
  ['dir=/var/lib/blobs', { kind: 'dir', path: '/var/lib/blobs' }],
])('%s', (text, words) => {
  expect(parseSource(text)).toEqual(words);
});

test('a peer is an address', () => {
  const words = parseSource('peer=https://archive.example/vh/');
  expect(words.kind === 'peer' && words.url.href).toBe('https://archive.example/vh/');
});

test.each([
  '',
  'peer',
  'peer=archive.example',
  'peer=ftp://a.example',
  'peer=https://a.example/?x=1',
  's3=',
  's3=b?layout=other',
  's3=b?what=1',
  'dir=relative',
  'ipfs=x',
])('%s is refused', (text) => {
  expect(() => parseSource(text)).toThrow(expect.objectContaining({ code: 'source/bad-syntax' }));
});

test('a refusal never repeats a password', () => {
  expect(() => parseSource('https://me:hunter2@a.example')).toThrow(/^(?!.*hunter2)/);
});

test('hex text is taken for the bytes it stands for, and for itself', () => {
  const text = Buffer.from('0xABcd\n');
  expect(candidatesOf(text)).toEqual([Uint8Array.of(0xab, 0xcd), text]);
  expect(candidatesOf(Buffer.from('abc'))).toHaveLength(1);
  expect(candidatesOf(Buffer.from(''))).toHaveLength(1);
});
