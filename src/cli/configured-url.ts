import { loadConfig } from '../config/index.ts';
import { findAddress } from './daemon-address.ts';

/** Address at which the process of this configuration listens, whatever a data folder says. */
export async function configuredUrl(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const config = loadConfig({ env, flags: {}, file: undefined, cwd: process.cwd() });
  const { url } = await findAddress(config, process.cwd(), undefined);
  return url;
}
