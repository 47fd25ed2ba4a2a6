import { afterAll, beforeAll, expect, test } from 'vitest';
import { versionHashOf } from '../../src/devnode/chain/content.ts';
import { createDevnode, type Devnode, RECORDED_BLOBS } from '../../src/devnode/index.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { call } from './rpc-client.ts';

let devnode: Devnode;

beforeAll(async () => {
  devnode = await createDevnode({ seedRecordedBlobs: true });
});

afterAll(() => devnode.close());

test('the recorded contents have the bytes and names that a real node gave them', async () => {
  expect(RECORDED_BLOBS).toHaveLength(22);
  for (const { versionHash, hashType, sizeBytes } of RECORDED_BLOBS) {
    const { result } = await call(devnode, 'getnevmblobdata', [versionHash, true]);
    expect(result).toMatchObject({ versionhash: versionHash, datasize: sizeBytes, height: 121 });
    const data = typeof result === 'object' && result !== null && 'data' in result ? String(result.data) : '';
    const bytes = Buffer.from(data, 'hex');
    expect(bytes).toHaveLength(sizeBytes);
    expect(versionHashOf(hashType, bytes)).toBe(versionHash);
    if (sizeBytes < 1000) expect(Buffer.from(nobleHasher[hashType](bytes)).toString('hex')).toBe(versionHash);
  }
});
