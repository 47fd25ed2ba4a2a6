import { CID } from 'multiformats/cid';
import { describe, expect, test } from 'vitest';
import { blobCid, contentOfCid } from '../../../src/core/blob/cid.ts';
import { HASH_TYPES, parseVersionHash } from '../../../src/core/blob/ids.ts';
import { nameOf, sampleBlob } from '../../sample-blobs.ts';

describe('the CID of a blob', () => {
  // Kubo 0.42.0 made both (`ipfs block put --mhtype …`) of the five bytes "hello".
  test.each([
    [
      'keccak256',
      '1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8',
      'bafkrwia4rl7zkbufylwuxqyxj42hekd3k3mvc644ssasomm2bgt2g3pkza',
    ],
    [
      'blake2s256',
      '19213bacc58dee6dbde3ceb9a47cbb330b3d86f8cca8997eb00be456f140ca25',
      'bafk6bzaceamsco5mywg643n54phltjd4xmzqwpmg7dgkrgl6waf6ivxridfck',
    ],
  ] as const)('the CID equals the one of Kubo for %s', (hashType, hash, cid) => {
    const name = { hashType, versionHash: parseVersionHash(hash) };
    expect(blobCid(name).toString()).toBe(cid);
    expect(contentOfCid(CID.parse(cid))).toEqual(name);
  });

  test('the CID starts with 01 55, then the multihash', () => {
    const hash = 'ab'.repeat(32);
    const hex = (type: 'keccak256' | 'blake2s256') =>
      Buffer.from(blobCid({ hashType: type, versionHash: parseVersionHash(hash) }).bytes).toString('hex');
    expect(hex('keccak256')).toBe(`01551b20${hash}`);
    expect(hex('blake2s256')).toBe(`0155e0e40220${hash}`);
  });

  test.each(HASH_TYPES)('the CID leads back to the %s name', (hashType) => {
    const blob = sampleBlob('there and back', 10, hashType);
    expect(contentOfCid(blobCid(blob))).toEqual(nameOf(blob));
  });

  test.each([
    ['a file of IPFS (CIDv0)', 'QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn'],
    ['a raw block under SHA-256', 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'],
    ['the empty identity block', 'bafkqaaa'],
  ])('a CID of %s names no blob', (_what, cid) => {
    expect(contentOfCid(CID.parse(cid))).toBeNull();
  });
});
