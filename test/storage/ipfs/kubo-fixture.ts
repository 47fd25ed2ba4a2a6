import { base32upper } from 'multiformats/bases/base32';
import { blobCid } from '../../../src/core/blob/cid.ts';
import type { ContentName } from '../../../src/core/blob/ids.ts';
import { type IpfsOptions, ipfsOptions } from '../../../src/storage/ipfs/ipfs-options.ts';
import { IpfsStore } from '../../../src/storage/ipfs/ipfs-store.ts';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { NEVER } from '../../sample-blobs.ts';
import type { KuboServer } from '../../servers/kubo-server.ts';

/** An empty store on this server. */
export async function emptyStore(server: KuboServer, given: Partial<IpfsOptions> = {}): Promise<IpfsStore> {
  const store = await IpfsStore.open(ipfsOptions({ apiUrl: server.apiUrl, ...given }));
  for (const name of await Array.fromAsync(listBlobs(store, NEVER))) await store.delete(name, NEVER);
  return store;
}

/** Path of a block under flatfs as `ipfs init` configures it (`next-to-last/2`). */
export function blockFile(name: ContentName): string {
  const key = base32upper.baseEncode(blobCid(name).multihash.bytes);
  return `blocks/${key.slice(-3, -1)}/${key}.data`;
}

/** One command of Kubo's API, for what a store has no need of. */
export async function ask(server: KuboServer, command: string): Promise<unknown> {
  const response = await fetch(`${server.apiUrl}/api/v0/${command}`, { method: 'POST' });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text === '' ? null : JSON.parse(text.split('\n')[0] ?? '');
}
