import { loadConfig } from '../config/index.ts';
import { findDaemon } from './daemon-address.ts';

/** Where the process of this configuration listens, apart from what any data folder says. */
export async function configuredUrl(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const config = loadConfig({ env, flags: {}, file: undefined, cwd: process.cwd() });
  const { url } = await findDaemon(config, process.cwd(), { url: undefined, tokenFile: undefined });
  return url;
}
