import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWhere } from '../promised.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ChildServer, freePort, untilConnects } from './child-server.ts';
import { answers } from './command.ts';

/** Debian puts nginx where only root's shell looks. */
const NGINX = ['nginx', '/usr/sbin/nginx'].find((command) => answers(command, ['-v']));

/** A suite that needs nginx (Debian: nginx-light). */
export const describeWithNginx = describeWhere(NGINX !== undefined, 'nginx is not here');

export interface CachingProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** nginx before a server, as the README tells operators to put one there: `X-Cache` says whether the cache answered. */
export async function startCachingProxy(behind: string): Promise<CachingProxy> {
  if (NGINX === undefined) throw new Error('nginx is not here.');
  const folder = temporaryFolder();
  const port = await freePort();
  for (const name of ['cache', 'tmp']) mkdirSync(join(folder, name));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${join(folder, 'tmp', name)};`,
  );
  const config = [
    'daemon off;',
    'master_process off;',
    'error_log stderr;',
    `pid ${join(folder, 'nginx.pid')};`,
    'events {}',
    'http {',
    '  access_log off;',
    ...temporary,
    documented()
      // The archive under test may be starved for longer than the five seconds that one request waits for another's answer.
      .replace('proxy_cache_lock on;', (line) => `${line} proxy_cache_lock_timeout 120s; proxy_cache_lock_age 120s;`)
      .replace('/var/cache/nginx', join(folder, 'cache'))
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace('http://archive:8080', behind),
    '}',
  ];
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, `${config.join('\n')}\n`);
  const server = await ChildServer.start({
    command: NGINX,
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    isReady: () => untilConnects(port),
  });
  return { url: `http://127.0.0.1:${port}`, stop: () => server.stop() };
}

/** The lines for nginx in the README. */
function documented(): string {
  const text = readFileSync(new URL('../../src/http/README.md', import.meta.url), 'utf8');
  const [, lines] = /^```nginx\n(.*?)^```$/ms.exec(text) ?? [];
  if (lines === undefined) throw new Error('The README has no lines for nginx.');
  return lines;
}
