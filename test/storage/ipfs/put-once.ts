import { ipfsOptions } from '../../../src/storage/ipfs/ipfs-options.ts';
import { IpfsStore } from '../../../src/storage/ipfs/ipfs-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';

/** A process of its own, for what is read from the environment: puts a blob, reads it back, says so. */
const [apiUrl = ''] = process.argv.slice(2);
// A server on a crowded machine may take longer than five seconds to agree on TLS.
const store = await IpfsStore.open(ipfsOptions({ apiUrl, connectTimeoutMs: 120_000 }));
const [reached] = await store.probe(NEVER);
const blob = sampleBlob('by another process', 300_000);
await store.put(blob, 'replace', NEVER);
const found = await store.get(nameOf(blob), NEVER);
process.stdout.write(`${reached?.sentence.split(' answers')[0]}, read back ${found?.length}\n`);
await store.close();
process.exit();
