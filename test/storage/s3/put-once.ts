import { s3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';

/** A process of its own, for what is read from the environment at its start: puts a blob, reads it back, says so. */
const [endpoint = '', bucket = '', accessKeyId = '', secretAccessKey = ''] = process.argv.slice(2);
const store = await S3Store.open(s3Options({ endpoint, bucket, credentials: { accessKeyId, secretAccessKey } }));
try {
  const blob = sampleBlob('by another process', 300_000);
  await store.put(blob, NEVER);
  const found = await store.get(nameOf(blob), NEVER);
  process.stdout.write(`read back ${found?.bytes.length}\n`);
} catch (error) {
  process.stdout.write(`${error instanceof Error && 'code' in error ? error.code : 'no code'}: ${String(error)}\n`);
} finally {
  await store.close();
}
