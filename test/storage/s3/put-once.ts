import { s3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';

/** A process of its own, for what is read from the environment at its start: puts two blobs, reads them back, says so. */
const [endpoint = '', bucket = '', accessKeyId = '', secretAccessKey = ''] = process.argv.slice(2);
const credentials = { accessKeyId, secretAccessKey };
// A server on a crowded machine may take longer than five seconds to agree on TLS.
const store = await S3Store.open(s3Options({ endpoint, bucket, credentials, connectTimeoutMs: 120_000 }));
try {
  // The second is sent past the SDK's middleware: on the same way, through the same proxy.
  let readBack = 0;
  for (const sizeBytes of [100_000, 200_000]) {
    const blob = sampleBlob('by another process', sizeBytes);
    await store.put(blob, 'replace', NEVER);
    readBack += (await store.get(nameOf(blob), NEVER))?.length ?? 0;
  }
  process.stdout.write(`read back ${readBack}\n`);
} catch (error) {
  process.stdout.write(`${error instanceof Error && 'code' in error ? error.code : 'no code'}: ${String(error)}\n`);
} finally {
  await store.close();
}
