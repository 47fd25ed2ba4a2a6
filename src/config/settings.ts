import type { z } from 'zod';
import { DIALECTS } from '../node/method-table.ts';
import { LOG_LEVELS } from '../observability/logger.ts';
import { oneOf, secret, setting, text, wholeNumber } from './setting.ts';

const nodeUrl = text.superRefine((value, context) => {
  const problem = urlProblem(value);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

function urlProblem(value: string): string | null {
  if (/[\s,]/.test(value.trim())) return 'names several nodes; this version follows one';
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return 'must be an http:// or https:// address, like http://user:password@127.0.0.1:8370';
  }
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  return null;
}

/** The one list of what can be configured. Environment, flags, file, documentation and masking all follow from it. */
export const SETTINGS = {
  dataDir: setting('dataDir', text, './data', 'Folder that holds blobs and catalog; one process at a time.'),
  nodeUrl: setting('node.url', nodeUrl.nullable(), null, 'Address of the node; may carry user and password.'),
  nodeUser: setting('node.user', text.nullable(), null, 'User name for the node.'),
  nodePassword: secret('node.password', 'Password for the node.'),
  nodeCookieFile: setting('node.cookieFile', text.nullable(), null, 'Cookie file of the node, instead of a password.'),
  nodeDialect: setting('node.dialect', oneOf(['auto', ...DIALECTS]), 'auto', 'Release line that the node speaks.'),
  nodePollMs: setting('node.pollMs', wholeNumber(100, 60_000), 2_000, 'Milliseconds between questions for the tip.'),
  nodeSweepMs: setting('node.sweepMs', wholeNumber(500, 300_000), 5_000, 'Milliseconds between readings of the list.'),
  nodeRequests: setting('node.requests', wholeNumber(1, 16), 3, 'Fetches under way at the node at a time.'),
  httpHost: setting('http.host', text, '127.0.0.1', 'Address that the API listens on.'),
  httpPort: setting('http.port', wholeNumber(0, 65_535), 8_080, 'Port of the API; 0 takes a free one and logs it.'),
  logLevel: setting('log.level', oneOf(LOG_LEVELS), 'info', 'Least level that is logged.'),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = { readonly [N in SettingName]: z.output<(typeof SETTINGS)[N]['schema']> };
export const SETTING_NAMES = Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);
