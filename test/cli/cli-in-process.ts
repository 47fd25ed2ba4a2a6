import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCli } from '../../src/cli/run-cli.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface CliEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command without a process of its own: for what ends before it does anything. */
export async function cli(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = temporaryFolder(),
): Promise<CliEnd> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const said = Promise.all([text(stdout), text(stderr)]);
  const signal = new AbortController().signal;
  const code = await runCli(words, { stdout, stderr, env, cwd, signal });
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code, stdout: out, stderr: err };
}
