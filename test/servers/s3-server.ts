import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer, freePort, untilConnects } from './child-server.ts';
import { killContainer } from './container.ts';
import { goBinary } from './go-binary.ts';
import { refuseToStart, serverMeans } from './server-means.ts';

/** A real S3 server of this test run. */
export interface S3Server {
  /** The server's program: `versitygw`, `minio`. */
  readonly engine: string;
  /** The process as it was started; null in a container. */
  readonly pid: number | null;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The folder in which the objects are files, to damage one behind the server's back; null in a container. */
  readonly folder: string | null;
  /** Changes bytes of an object of 200 kB or more where it lies on its disk. versitygw gives what is there, MinIO does not. */
  rot(bucket: string, key: string, atByte: number): Promise<void>;
  /** Ends it as a power loss does. */
  kill(): Promise<void>;
  /** Starts it again on the same port and bytes. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export interface S3ServerOptions {
  /** Keeps versions of objects, as object lock asks for. */
  readonly versioning?: boolean;
  /** Connections stay open, as with servers that are asked from afar. versitygw closes each connection unless it is told: the hard case, for tests. */
  readonly keepAlive?: boolean;
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
}

const ROTTEN = Buffer.from('rotten');

export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  switch (serverMeans()) {
    case 'docker':
      return await startMinio(options);
    case 'go':
      return await startVersitygw(options);
    case null:
      return refuseToStart();
  }
}

async function startVersitygw(options: S3ServerOptions): Promise<S3Server> {
  const command = await goBinary('versitygw');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-versitygw-'));
  const objects = join(folder, 'objects');
  const versions = join(folder, 'versions');
  await mkdir(objects);
  await mkdir(versions);
  const port = await freePort();
  const accessKeyId = 'holdfast-test';
  const secretAccessKey = randomBytes(16).toString('hex');
  const { certificate } = options;
  const child = await ChildServer.start({
    command,
    args: [
      ...['--port', `127.0.0.1:${port}`],
      ...(options.keepAlive === true ? ['--keep-alive'] : []),
      ...(certificate === undefined ? [] : ['--cert', certificate.certFile, '--key', certificate.keyFile]),
      'posix',
      ...(options.versioning === true ? ['--versioning-dir', versions] : []),
      objects,
    ],
    env: { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
    // The server says so a moment before it takes connections.
    isReady: async (output) => {
      await output.until('service listening on');
      await untilConnects(port);
    },
  });
  return {
    pid: child.pid,
    engine: 'versitygw',
    endpoint: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    region: 'us-east-1',
    accessKeyId,
    secretAccessKey,
    folder: objects,
    rot: async (bucket, key, atByte) => {
      const file = await open(join(objects, bucket, key), 'r+');
      await file.write(ROTTEN, 0, ROTTEN.length, atByte);
      await file.close();
    },
    kill: () => child.kill(),
    resume: () => child.resume(),
    stop: async () => {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A release by its tag, not `latest`: what passes today passes tomorrow. */
const MINIO_IMAGE = 'minio/minio:RELEASE.2025-09-07T16-13-09Z';

const CERTIFICATES = '/certificates';

function minioFiles({ certFile, keyFile }: NonNullable<S3ServerOptions['certificate']>) {
  return [
    { source: certFile, target: `${CERTIFICATES}/public.crt` },
    { source: keyFile, target: `${CERTIFICATES}/private.key` },
  ];
}

async function startMinio({ certificate }: S3ServerOptions): Promise<S3Server> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const accessKeyId = 'holdfast-test';
  const secretAccessKey = randomBytes(16).toString('hex');
  const port = await freePort();
  const ready = Wait.forHttp('/minio/health/ready', 9_000);
  const container = await new GenericContainer(MINIO_IMAGE)
    .withEnvironment({ MINIO_ROOT_USER: accessKeyId, MINIO_ROOT_PASSWORD: secretAccessKey })
    .withCommand(['server', ...(certificate === undefined ? [] : ['--certs-dir', CERTIFICATES]), '/data'])
    .withCopyFilesToContainer(certificate === undefined ? [] : minioFiles(certificate))
    // A fixed port, so that it is the same after a restart.
    .withExposedPorts({ container: 9_000, host: port })
    .withWaitStrategy(certificate === undefined ? ready : ready.usingTls().allowInsecure())
    .start();
  return {
    pid: null,
    engine: 'minio',
    endpoint: `${certificate === undefined ? 'http' : 'https'}://${container.getHost()}:${port}`,
    region: 'us-east-1',
    accessKeyId,
    secretAccessKey,
    folder: null,
    rot: async (bucket, key, atByte) => {
      const write = `printf ${ROTTEN} | dd of="$part" bs=1 seek=${atByte} conv=notrunc`;
      const every = `for part in /data/${bucket}/${key}/*/part.1; do ${write}; done`;
      const { exitCode, output } = await container.exec(['sh', '-ec', every]);
      if (exitCode !== 0) throw new Error(output);
    },
    kill: () => killContainer(container),
    resume: () => container.restart(),
    stop: async () => {
      await container.stop();
    },
  };
}
