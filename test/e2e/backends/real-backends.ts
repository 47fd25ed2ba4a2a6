import type { Devnode } from '../../../src/devnode/index.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { atEndOfTest } from '../../cleanup.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { newBucket } from '../../storage/s3/s3-fixture.ts';
import type { RunningArchive } from '../archive-process.ts';
import { eventually } from '../eventually.ts';

export interface Published {
  readonly label: string;
  readonly sizeBytes: number;
  readonly versionHash: string;
}

/** Blobs of either hash type, small and large, in blocks. */
export function publish(node: Devnode, prefix: string, count: number): Published[] {
  const published = Array.from({ length: count }, (_, index) => {
    const label = `${prefix} ${index}`;
    const sizeBytes = index % 5 === 0 ? 300_000 : 100 + index * 37;
    const hashType = index % 4 === 0 ? ('blake2s256' as const) : ('keccak256' as const);
    return { label, sizeBytes, versionHash: node.submitLabelled({ label, sizeBytes, hashType }).versionHash };
  });
  node.mine(1);
  return published;
}

/** An S3 server that one test alone kills and resumes. */
export async function s3OfTest(): Promise<S3Server> {
  const server = await startS3Server();
  atEndOfTest(() => server.stop());
  return server;
}

/** A Kubo has one set of pins, and an archiver adopts all of them: of two tests with one Kubo each sees the other's blobs. */
export async function kuboOfTest(): Promise<KuboServer> {
  const server = await startKubo();
  atEndOfTest(() => server.stop());
  return server;
}

/** A new bucket, and what the daemon is told of it. */
export async function s3Environment(server: S3Server): Promise<{ options: S3Options; env: Record<string, string> }> {
  const options = await newBucket(server);
  return {
    options,
    env: {
      HOLDFAST_S3_ENDPOINT: server.endpoint,
      HOLDFAST_S3_BUCKET: options.bucket,
      HOLDFAST_S3_ACCESS_KEY_ID: server.accessKeyId,
      HOLDFAST_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
    },
  };
}

export function ipfsEnvironment(server: KuboServer): Record<string, string> {
  return { HOLDFAST_IPFS_API_URL: server.apiUrl };
}

/** Waits until no backend has anything left to do. */
export async function untilDrained({ client }: RunningArchive, backends: readonly string[], timeoutMs?: number) {
  await eventually(async () => {
    const { backends: now, content } = await client.status();
    const idle = backends.every((id) => now.some((one) => one.id === id && one.state === 'good' && one.queued === 0));
    if (!idle || content.seen > 0) throw new Error(`not drained: ${JSON.stringify({ now, content })}`);
  }, timeoutMs);
}

/** Each blob comes back as it was published. */
export async function expectAll({ client }: RunningArchive, published: readonly Published[]): Promise<void> {
  for (const { label, sizeBytes, versionHash } of published) {
    const { status, body } = await client.blob(versionHash);
    if (status !== 200 || !body.equals(sampleBytes(label, sizeBytes))) {
      const said = status === 200 ? `${body.length} bytes` : body.toString();
      throw new Error(`${versionHash} (${label}) came back with ${status}: ${said}`);
    }
  }
}
