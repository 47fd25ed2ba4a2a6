import { isIP } from 'node:net';
import type { StartedTestContainer } from 'testcontainers';
import { serverMeans } from './server-means.ts';

/**
 * Stops it as a power loss does, as often as it is asked. Testcontainers remembers that it stopped a container: it does
 * nothing when one that was started again is to be stopped once more, at the end neither.
 */
export async function killContainer(container: StartedTestContainer): Promise<void> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  const client = await getContainerRuntimeClient();
  await client.container.getById(container.getId()).kill();
}

/** The host at which the servers of this run answer, as a certificate names it: from within a container it is not this machine. */
export async function serverName(): Promise<string> {
  if (serverMeans() !== 'docker') return 'IP:127.0.0.1';
  const { getContainerRuntimeClient } = await import('testcontainers');
  const { host } = (await getContainerRuntimeClient()).info.containerRuntime;
  return isIP(host) === 0 ? `DNS:${host}` : `IP:${host}`;
}
