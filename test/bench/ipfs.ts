import { create } from 'kubo-rpc-client';
import { blobCid } from '../../src/core/blob/cid.ts';
import { listBlobs } from '../../src/storage/object-store.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { startKubo } from '../servers/kubo-server.ts';
import { emptyStore } from '../storage/ipfs/kubo-fixture.ts';
import { blobMaker, memoryOf, shareOf, timed } from './by-turns.ts';
import type { Figure } from './figure.ts';

const SIZES = [
  { name: '2 MiB', sizeBytes: 2_097_152, count: 24, atOnce: 4 },
  { name: '1 KiB', sizeBytes: 1_024, count: 400, atOnce: 16 },
];
const LEAST = 0.8;

/** The store against kubo-rpc-client's bare calls on the same real Kubo, with the same concurrency. */
export async function benchIpfs(): Promise<Figure[]> {
  const server = await startKubo();
  const store = await emptyStore(server);
  const bare = create({ url: server.apiUrl });
  const { signal } = new AbortController();
  const figures: Figure[] = [];
  const share = (name: string, value: number) => figures.push({ name, value, unit: 'of bare calls', least: LEAST });
  try {
    figures.push(await memoryOf('ipfs', store));
    for (const { name, sizeBytes, count, atOnce } of SIZES) {
      const newBlobs = await blobMaker(count, sizeBytes);
      const putBare = (blob: VerifiedBlob) => bare.block.put(blob.bytes, { mhtype: 'keccak-256', pin: true });
      const ours = () => timed(newBlobs(), atOnce, (blob) => store.put(blob, 'replace', signal));
      const limit = () => timed(newBlobs(), atOnce, putBare);
      share(`ipfs: put of ${name}`, await shareOf(ours, limit));

      const blobs = newBlobs();
      await timed(blobs, atOnce, (blob) => store.put(blob, 'replace', signal));
      const read = await shareOf(
        () => timed(blobs, atOnce, (blob) => store.get(blob, signal)),
        () => timed(blobs, atOnce, (blob) => bare.block.get(blobCid(blob))),
      );
      share(`ipfs: get of ${name}`, read);
    }
    const listed = await shareOf(
      () => drained(listBlobs(store, signal)),
      () => drained(bare.pin.ls({ type: 'recursive' })),
    );
    share('ipfs: listing of names', listed);
    return figures;
  } finally {
    await store.close();
    await server.stop();
  }
}

async function drained(entries: AsyncIterable<unknown>): Promise<number> {
  const start = performance.now();
  for await (const _ of entries);
  return performance.now() - start;
}
