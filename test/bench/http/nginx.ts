import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../servers/child-server.ts';

/** Directives besides those that serve the files of a folder. */
interface Directives {
  readonly http: string;
  readonly server: string;
}

/** Debian's nginx on a folder, tuned as far as that brings anything here: no sendfile, large buffers, open files kept. */
export async function startNginx(
  folder: string,
  more: Directives = { http: '', server: '' },
): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  mkdirSync(join(folder, 'temporary'), { recursive: true });
  const file = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`)
    .join(' ');
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
     events { worker_connections 4096; }
     http { ${temporary} access_log off; sendfile off; output_buffers 2 512k; keepalive_requests 100000000;
       open_file_cache max=10000 inactive=600s; open_file_cache_valid 600s; default_type application/octet-stream; ${more.http}
       server { listen 127.0.0.1:${port}; root ${folder}; ${more.server} } }\n`,
  );
  const child: ChildProcess = spawn('nginx', ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  });
  const failed = once(child, 'error').then(([error]) => Promise.reject(error));
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([answering(url), failed]);
  return {
    url,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function answering(url: string): Promise<void> {
  for (const end = Date.now() + 10_000; ; ) {
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}
