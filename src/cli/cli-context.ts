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

/** Control characters, which a terminal obeys; line ends and tabs are our own. */
const OBEYED = /(?![\t\n])\p{Cc}/gu;

/**
 * The text with nothing in it that a terminal obeys: nodes, peers and buckets choose the words of what they refuse. It is
 * escaped as in JSON, which stays the same value.
 */
export function disarmed(text: string): string {
  return text.replaceAll(OBEYED, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function print(context: CliContext, text: string): void {
  context.stdout.write(`${disarmed(text)}\n`);
}

export function printJson(context: CliContext, value: unknown): void {
  print(context, JSON.stringify(value, null, 2));
}

/** The exit code of a command that was asked to stop. */
export function interruptedCode(signal: AbortSignal): ExitCode {
  return signal.reason === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted;
}
