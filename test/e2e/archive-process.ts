import { createDevnode, type Devnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { type AtEnd, atEndOfTest } from '../cleanup.ts';
import { freePort } from '../servers/child-server.ts';
import { ArchiveClient } from './archive-client.ts';
import { eventually } from './eventually.ts';
import { HoldfastHere } from './holdfast-here.ts';
import { HoldfastProcess, type RunningHoldfast } from './holdfast-process.ts';

/** A password that nothing may ever repeat. */
export const PASSWORD = 'Xk7-never-to-be-seen-9Qz';

/** An emulated node in this process, gone at the end. It mines only when told to. */
export async function startNode(options: DevnodeOptions = {}, atEnd: AtEnd = atEndOfTest): Promise<Devnode> {
  // A node that goes away and comes back finds its port free.
  const node = await createDevnode({ password: PASSWORD, port: await freePort(), ...options });
  atEnd(() => node.close());
  return node;
}

export interface ArchiveSetup {
  readonly dataDir: string;
  readonly node: { readonly url: string };
  readonly env?: Readonly<Record<string, string>>;
  readonly words?: readonly string[];
  readonly openFiles?: number;
  readonly atEnd?: AtEnd;
}

/** A running daemon and a way to ask it. */
export interface RunningArchive extends RunningHoldfast {
  readonly client: ArchiveClient;
}

/** The same as a process of its own. */
export interface ArchiveProcess extends HoldfastProcess {
  readonly client: ArchiveClient;
}

/** The settings of a daemon under test: it looks often, and takes a free port. */
export function environmentOf({ dataDir, node, env }: ArchiveSetup): Record<string, string> {
  return {
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_NODE_URL: node.url,
    HOLDFAST_NODE_USER: 'devnode',
    HOLDFAST_NODE_PASSWORD: PASSWORD,
    HOLDFAST_NODE_POLL_MS: '100',
    HOLDFAST_NODE_SWEEP_MS: '500',
    HOLDFAST_HTTP_PORT: '0',
    ...env,
  };
}

/** `holdfast run`, started and listening. */
export async function startArchive(setup: ArchiveSetup): Promise<ArchiveProcess> {
  const { words = [], atEnd = atEndOfTest, openFiles } = setup;
  const limited = openFiles === undefined ? {} : { openFiles };
  const daemon = new HoldfastProcess(['run', ...words], { env: environmentOf(setup), atEnd, ...limited });
  const [, url = ''] = await daemon.says(/"url":"([^"]+)"/);
  return Object.assign(daemon, { client: new ArchiveClient(url) });
}

/** The same in the test's own process: for what needs no kill, no limits and no signals but those that stop it. */
export async function startArchiveHere(setup: Omit<ArchiveSetup, 'openFiles'>): Promise<RunningArchive> {
  const { words = [], atEnd = atEndOfTest } = setup;
  const daemon = new HoldfastHere(['run', ...words], { env: environmentOf(setup), atEnd });
  const [, url = ''] = await daemon.says(/"url":"([^"]+)"/);
  return Object.assign(daemon, { client: new ArchiveClient(url) });
}

/** Waits until so many blobs are read back and proven, and none is under way. */
export async function untilStored({ client }: RunningArchive, count: number, timeoutMs = 300_000): Promise<void> {
  await eventually(async () => {
    const { content, conditions } = await client.status();
    if (content.stored === count && content.seen === 0 && content.spooled === 0) return;
    throw new Error(`not stored yet: ${JSON.stringify({ content, conditions })}`);
  }, timeoutMs);
}

/** Asks it to stop, and waits for its end. */
export async function stop(daemon: RunningHoldfast, signal: NodeJS.Signals = 'SIGTERM') {
  daemon.kill(signal);
  return await daemon.ended;
}
