/** Child process of the persistence test. It mines in the given folder until the test kills it. */
import { createDevnode } from '../../src/devnode/index.ts';

const dataDir = process.argv[2] ?? '';
const devnode = await createDevnode({ dataDir, seed: 'killed', blocksEveryMs: 3, hexCacheBytes: 0 });
const submitted = devnode.submitBlob(Buffer.from(`submitted by ${process.pid}`), { hashType: 'blake2s256' });
devnode.chain.events.on('tip', ({ hash, height }) => process.stdout.write(`${height} ${hash}\n`));
process.stdout.write(`submitted ${submitted.versionHash}\n`);
