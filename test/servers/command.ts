import { spawn, spawnSync } from 'node:child_process';

export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandSurroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a command to its end, whatever that is. */
export async function runCommand(
  command: string,
  args: readonly string[],
  { env, cwd }: CommandSurroundings = {},
): Promise<CommandEnd> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
}

/** The same for one that must end well; gives what it wrote to standard output. */
export async function mustRun(command: string, args: readonly string[], surroundings: CommandSurroundings = {}) {
  const { code, stdout, stderr } = await runCommand(command, args, surroundings);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${`${stdout}${stderr}`.slice(-4_000)}`);
}

/** Milliseconds in which a command answers on a machine whose processor is wanted by many: one that has no answer says so sooner. */
const ANSWERS_WITHIN_MS = 60_000;

/** Reports whether a command is there and answers. */
export function answers(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: ANSWERS_WITHIN_MS }).status === 0;
}
