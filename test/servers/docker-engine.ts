import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describeWhere } from '../promised.ts';
import { lockIfFree } from './building-lock.ts';
import { ChildServer } from './child-server.ts';
import { answers, mustRun, runCommand } from './command.ts';
import { cacheFolder } from './go-binary.ts';
import { BASE_SETTINGS, nodeBaseImage } from './node-base-image.ts';

/** An engine that answers already; else one of the test's own, which only root can start, and only Debian is known for. */
export type EngineMeans = 'running' | 'own';

export function engineMeans(): EngineMeans | null {
  if (answers('docker', ['info'])) return 'running';
  const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version');
  const tools = [
    ['docker', '--version'],
    ['dockerd', '--version'],
    ['debootstrap', '--version'],
    ['setpriv', '--version'],
  ] as const;
  return isRootOnDebian && tools.every(([command, word]) => answers(command, [word])) ? 'own' : null;
}

/** A suite that builds and runs images. */
export const describeWithEngine = describeWhere(
  engineMeans() !== null,
  'no Docker engine answers, and none can be started: it takes root on Debian with docker.io and debootstrap',
);

export interface DockerEngine {
  /** The variables by which `docker` and testcontainers find it. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The engine to use; `base` is the name of the image that it must have, made here where none can be pulled. */
export async function startDockerEngine(base: string): Promise<DockerEngine> {
  const means = engineMeans();
  if (means === 'running') return { env: {}, stop: async () => {} };
  if (means === null) throw new Error('No Docker engine answers, and none can be started here.');
  const tar = await nodeBaseImage();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-docker-'));
  const socket = `unix://${folder}/socket`;
  const layers = keptLayers(tar) ?? { path: `${folder}/data`, release: () => {} };
  const paths = ['--data-root', layers.path, '--exec-root', `${folder}/exec`, '--pidfile', `${folder}/pid`];
  // The engine keeps off this machine's network set-up.
  const network = ['--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'];
  const daemon = ['dockerd', ...paths, '--host', socket, '--storage-driver', 'overlay2', ...network];
  const env = { DOCKER_HOST: socket, DOCKER_BUILDKIT: '0' };
  // The engine ends with this process, also when that is killed.
  const server = await ChildServer.start({
    command: 'setpriv',
    args: ['--pdeathsig', 'TERM', ...daemon],
    isReady: (output) => output.until('API listen on'),
    // A killed engine leaves its mounts behind, and then its folder cannot be removed.
    stopMs: 120_000,
  }).catch(async (error) => {
    // A machine that lost its power can leave layers that no engine reads: the next run makes others.
    await rm(layers.path, { recursive: true, force: true });
    layers.release();
    throw error;
  });
  const stop = async () => {
    await runCommand('docker', ['image', 'prune', '--force', '--filter', `until=${UNUSED_LAYERS_GO_AFTER}`], { env });
    await server.stop();
    layers.release();
    // The one mount that dockerd leaves behind: the network name space of containers on the host's network.
    await runCommand('umount', [`${folder}/exec/netns/default`]);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // A run that was killed left its own.
    for (const what of ['container', 'volume']) await mustRun('docker', [what, 'prune', '--force'], { env });
    const { code } = await runCommand('docker', ['image', 'inspect', base], { env });
    const settings = BASE_SETTINGS.flatMap((setting) => ['--change', setting]);
    if (code !== 0) await mustRun('docker', ['import', ...settings, tar, base], { env });
  } catch (error) {
    await stop();
    throw error;
  }
  return { env, stop };
}

const UNUSED_LAYERS_GO_AFTER = '24h';

/**
 * The layers that earlier runs made above this base: a build makes again what has changed since, and what stands on that. null:
 * another run has them now.
 */
function keptLayers(tar: string): { readonly path: string; readonly release: () => void } | null {
  const path = join(cacheFolder(), basename(tar, '.tar').replace('node-base', 'docker'));
  const release = lockIfFree(`${path}.sqlite`);
  return release === null ? null : { path, release };
}
