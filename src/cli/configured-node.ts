import type { SettingValues } from '../config/index.ts';
import { createClient, type NodeClient } from '../node/index.ts';

/** A client of the configured node; null: none is configured. Nothing is sent yet. */
export function configuredNode(settings: SettingValues): NodeClient | null {
  const { nodeUrl: url, nodeUser, nodePassword, nodeCookieFile, nodeDialect: dialect } = settings;
  if (url === null) return null;
  if (nodeCookieFile !== null) return createClient({ url, dialect, credentials: { cookieFile: nodeCookieFile } });
  if (nodeUser === null && nodePassword === null) return createClient({ url, dialect });
  return createClient({ url, dialect, credentials: { user: nodeUser ?? '', password: nodePassword ?? '' } });
}
