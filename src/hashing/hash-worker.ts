/** Worker thread of `HashThread`: hashes the bytes it receives and transfers the same memory back. */
import { parentPort, workerData } from 'node:worker_threads';
import type { HashType } from '../core/blob/ids.ts';
import { type HashFunction, loadEngine } from './hash-candidates.ts';

/** One request of `HashThread`. No schema library validates it: importing one would double the thread's memory. */
interface Request {
  readonly id: number;
  readonly hashType: HashType;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const port = parentPort;
if (port === null) throw new Error('hash-worker runs as a worker thread only');
const engines: Readonly<Record<HashType, string>> = workerData;
const hashes: Readonly<Record<HashType, HashFunction>> = {
  keccak256: await loadEngine('keccak256', engines.keccak256),
  blake2s256: await loadEngine('blake2s256', engines.blake2s256),
};
port.on('message', ({ id, hashType, bytes }: Request) => {
  port.postMessage({ id, digest: hashes[hashType](bytes), bytes }, [bytes.buffer]);
});
