import type { SettingValues } from './settings.ts';

export type NodeCredentials =
  | { readonly user: string; readonly password: string }
  | { readonly cookieFile: string }
  /** Only what the address itself may carry. */
  | null;

/** User and password can come from different places: the user in the address, its password from a secret file. */
export function nodeCredentials(url: string, settings: SettingValues): NodeCredentials {
  const { nodeUser, nodePassword, nodeCookieFile } = settings;
  if (nodeCookieFile !== null) return { cookieFile: nodeCookieFile };
  if (nodeUser === null && nodePassword === null) return null;
  const { username, password } = new URL(url);
  return {
    user: nodeUser ?? decodeURIComponent(username),
    password: nodePassword ?? decodeURIComponent(password),
  };
}
