import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface BenchProcess {
  readonly child: ChildProcess;
  /** The first line that it printed. */
  readonly line: string;
}

/** Starts a script of this folder and waits for the first line that it prints. `under`: a program that runs it, and its words. */
export async function startAndReadLine(
  script: string,
  words: readonly string[],
  nodeFlags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
): Promise<BenchProcess> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const [program = process.execPath, ...rest] = [...under, process.execPath, ...nodeFlags, path, ...words];
  const child = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  });
  if (child.stdout === null) throw new Error(`${script} has no output`);
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), once(child, 'exit').then(([code]) => `exit ${code}`)]);
  if (!Array.isArray(first)) throw new Error(`${script} ended before it printed anything: ${first}`);
  return { child, line: String(first[0]) };
}

export async function stopProcess({ child }: BenchProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
