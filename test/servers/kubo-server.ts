import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ChildServer, freePort } from './child-server.ts';
import { killContainer } from './container.ts';
import { goBinary } from './go-binary.ts';
import { refuseToStart, serverMeans } from './server-means.ts';

/** A real Kubo of this test run. */
export interface KuboServer {
  /** The process as it was started; null in a container. */
  readonly pid: number | null;
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  /** `/ip4/…/tcp/…`, for another node to connect to. */
  readonly swarmAddress: string;
  /** Writes a file below its `IPFS_PATH`, to damage a block behind its back. */
  writeFile(path: string, bytes: Uint8Array): Promise<void>;
  removeFile(path: string): Promise<void>;
  kill(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export interface KuboServerOptions {
  /** Merged over the configuration that `ipfs init --profile=test` makes, by dotted name. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function startKubo(options: KuboServerOptions = {}): Promise<KuboServer> {
  switch (serverMeans()) {
    case 'docker':
      return await startContainer(options);
    case 'go':
      return await startBinary(options);
    case null:
      return refuseToStart();
  }
}

async function startBinary(options: KuboServerOptions): Promise<KuboServer> {
  const command = await goBinary('ipfs');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-kubo-'));
  const env = { IPFS_PATH: folder };
  await promisify(execFile)(command, ['init', '--profile=test'], { env: { ...process.env, ...env } });
  const [api, gateway, swarm] = [await freePort(), await freePort(), await freePort()];
  await configure(join(folder, 'config'), {
    'Addresses.API': `/ip4/127.0.0.1/tcp/${api}`,
    'Addresses.Gateway': `/ip4/127.0.0.1/tcp/${gateway}`,
    'Addresses.Swarm': [`/ip4/127.0.0.1/tcp/${swarm}`],
    ...options.config,
  });
  const child = await ChildServer.start({
    command,
    args: ['daemon'],
    env,
    isReady: (output) => output.until('Daemon is ready'),
  });
  return {
    pid: child.pid,
    apiUrl: `http://127.0.0.1:${api}`,
    gatewayUrl: `http://127.0.0.1:${gateway}`,
    swarmAddress: `/ip4/127.0.0.1/tcp/${swarm}`,
    writeFile: (path, bytes) => writeFile(join(folder, path), bytes),
    removeFile: (path) => rm(join(folder, path)),
    kill: () => child.kill(),
    resume: () => child.resume(),
    stop: async () => {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function configure(file: string, changes: Readonly<Record<string, unknown>>): Promise<void> {
  const config: unknown = JSON.parse(await readFile(file, 'utf8'));
  for (const [name, value] of Object.entries(changes)) set(config, name.split('.'), value);
  await writeFile(file, JSON.stringify(config, null, 2));
}

function set(target: unknown, [first, ...rest]: readonly string[], value: unknown): void {
  if (typeof target !== 'object' || target === null || first === undefined) return;
  if (rest.length === 0) Object.assign(target, { [first]: value });
  else set(Reflect.get(target, first), rest, value);
}

const KUBO_IMAGE = 'ipfs/kubo:v0.42.0';

async function startContainer({ config = {} }: KuboServerOptions): Promise<KuboServer> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const [api, gateway, swarm] = [await freePort(), await freePort(), await freePort()];
  const container = await new GenericContainer(KUBO_IMAGE)
    .withEnvironment({ IPFS_PROFILE: 'test' })
    .withCopyContentToContainer([
      { content: `${LISTEN_EVERYWHERE}${configuring(config)}`, target: '/container-init.d/listen.sh', mode: 0o755 },
    ])
    .withExposedPorts(
      { container: 5_001, host: api },
      { container: 8_080, host: gateway },
      { container: 4_001, host: swarm },
    )
    .withWaitStrategy(Wait.forLogMessage('Daemon is ready'))
    .start();
  return {
    pid: null,
    apiUrl: `http://${container.getHost()}:${api}`,
    gatewayUrl: `http://${container.getHost()}:${gateway}`,
    // Nodes in containers meet on their own network, not through the ports of the host.
    swarmAddress: `/ip4/${container.getIpAddress('bridge')}/tcp/4001`,
    writeFile: (path, bytes) =>
      container.copyContentToContainer([{ content: Buffer.from(bytes), target: `/data/ipfs/${path}` }]),
    removeFile: async (path) => {
      await container.exec(['rm', `/data/ipfs/${path}`]);
    },
    kill: () => killContainer(container),
    resume: () => container.restart(),
    stop: async () => {
      await container.stop();
    },
  };
}

function configuring(config: Readonly<Record<string, unknown>>): string {
  return Object.entries(config)
    .map(([name, value]) => `ipfs config --json ${name} '${JSON.stringify(value)}'\n`)
    .join('');
}

/** The test profile listens on the container's own loopback only, where no published port leads. */
const LISTEN_EVERYWHERE = `#!/bin/sh
ipfs config Addresses.API /ip4/0.0.0.0/tcp/5001
ipfs config Addresses.Gateway /ip4/0.0.0.0/tcp/8080
ipfs config --json Addresses.Swarm '["/ip4/0.0.0.0/tcp/4001"]'
`;
