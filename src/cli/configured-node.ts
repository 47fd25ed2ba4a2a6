import { type Config, nodeCredentials, nodeUrls, type SettingValues } from '../config/index.ts';
import { createClient, type NodeClient } from '../node/index.ts';
import { findEmulatedNode } from './daemon-address.ts';
import { CliError } from './errors.ts';

/** A client of the configured node; null: none is configured. Nothing is sent yet. */
export function configuredNode(settings: SettingValues): NodeClient | null {
  const { nodeUrl, nodeDialect: dialect } = settings;
  if (nodeUrl === null) return null;
  // A command asks the first of several nodes.
  const [url = nodeUrl] = nodeUrls(nodeUrl);
  const credentials = nodeCredentials(url, settings);
  return createClient(credentials === null ? { url, dialect } : { url, dialect, credentials });
}

/** The configured node; else the emulated one of a daemon that runs on the data folder. */
export async function nodeToAsk(config: Config, cwd: string): Promise<NodeClient> {
  const configured = configuredNode(config.values);
  if (configured !== null) return configured;
  const emulated = await findEmulatedNode(config, cwd);
  if (emulated !== null) return createClient({ url: emulated });
  throw new CliError('cli/no-node', 'No node address is configured, and no development daemon runs here.', {
    retryable: false,
    hint: 'Set HOLDFAST_NODE_URL=http://user:password@host:port, or start an emulated chain with `npm start`.',
  });
}
