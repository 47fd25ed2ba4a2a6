import type { Readable, Writable } from 'node:stream';

/** The outside world of a command. Tests inject their own. */
export interface CliContext {
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** undefined: no person can be asked. */
  readonly stdin?: Readable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts when the user or the system asks to stop; the reason is the signal's name. */
  readonly signal: AbortSignal;
  /** Calls back whenever the supervisor asks to read the configuration again (SIGHUP without a terminal). */
  readonly onReload?: (reload: () => Promise<void>) => void;
}

/** Exit codes that scripts rely on. */
export const EXIT = { done: 0, failed: 1, usage: 2, missing: 3, interrupted: 130, terminated: 143 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export function print(context: CliContext, text: string): void {
  context.stdout.write(`${text}\n`);
}

export function printJson(context: CliContext, value: unknown): void {
  print(context, JSON.stringify(value, null, 2));
}

/** The exit code of a command that was asked to stop. */
export function interruptedCode(signal: AbortSignal): ExitCode {
  return signal.reason === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted;
}
