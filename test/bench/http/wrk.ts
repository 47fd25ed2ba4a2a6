import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

export interface Load {
  readonly requests: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** A script that asks for these paths in turn. */
export function writePaths(file: string, paths: readonly string[]): void {
  const listed = paths.map((path) => `"GET ${path} HTTP/1.1\\r\\nHost: bench\\r\\n\\r\\n"`).join(',\n');
  writeFileSync(
    file,
    `local all = {${listed}}\nlocal at = 0\nrequest = function()\nat = at % #all + 1\nreturn all[at]\nend\n`,
  );
}

/** Asks as fast as it is answered, over 64 connections. Throws when anything but 2xx came, or nothing. */
export async function wrk(url: string, script: string, seconds: number): Promise<Load> {
  const words = ['-t1', '-c64', `-d${seconds}s`, '--timeout', '30s', '--latency', '-s', script, url];
  const { stdout } = await promisify(execFile)('wrk', words);
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1] ?? 0);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  const [, value = '', unit = ''] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout) ?? [];
  if (/Non-2xx|Socket errors: connect [1-9]/.test(stdout) || perSecond === 0) throw new Error(stdout);
  const scale = { us: 0.001, ms: 1, s: 1_000 }[unit] ?? Number.NaN;
  return { requests, perSecond, p99Ms: Number(value) * scale };
}
