import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Writes the addresses of all modules that the process loaded to its fourth channel when the process ends. */
const WATCH = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({ load(url, context, next) { loaded.add(url.split('?')[0]); return next(url, context); } });
process.on('exit', () => writeSync(3, JSON.stringify([...loaded])));
`)}`;

/** The folder of compiled modules. A module that comes from there is loaded, and counted, all the same. */
const COMPILED = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

export interface LoadedModules {
  readonly code: number | null;
  readonly stdout: string;
  /** Paths of files: what Node itself brings is not counted. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** Runs a command of the program to its end, and gives the files of JavaScript or TypeScript that it loaded. */
export async function loadedModules(
  main: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<LoadedModules> {
  const child = spawn(process.execPath, ['--import', WATCH, main, ...words], {
    env: { ...COMPILED, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  const [, stdout, , told] = child.stdio;
  if (stdout === null || told === undefined || told === null || !('readable' in told)) throw new Error('no channel');
  const [said, listed, [code]] = await Promise.all([text(stdout), text(told), once(child, 'close')]);
  const urls = z.array(z.string()).parse(JSON.parse(listed));
  const files = urls.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  return { code: z.number().nullable().parse(code), stdout: said, files, bytes };
}
