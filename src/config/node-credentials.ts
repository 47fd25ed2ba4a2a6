import type { SettingValues } from './settings.ts';

export type NodeCredentials =
  | { readonly user: string; readonly password: string }
  | { readonly cookieFile: string }
  /** No user, password or cookie file in settings; the address may still carry credentials. */
  | null;

/** Combines credentials from several settings: the user may stand in the address and the password in a secret file. */
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
