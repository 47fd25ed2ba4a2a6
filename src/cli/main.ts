#!/usr/bin/env node
import { EXIT, type ExitCode } from './cli-context.ts';

/** The version in the package's `engines`, of which npm only warns. */
const OLDEST_NODE_MAJOR = 24;
if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE_MAJOR) {
  process.stderr.write(
    `holdfast: This is Node ${process.versions.node}, and holdfast needs ${OLDEST_NODE_MAJOR} or newer.\n  Install it (https://nodejs.org), or run the image, which brings its own.\n`,
  );
  process.exit(EXIT.usage);
}
// Loaded only now: an older Node fails in the midst of it, with a stack for an answer.
const { weighOutsideMemory } = await import('./outside-memory.ts');
const { collectWhenIdle } = await import('./idle-memory.ts');
const { endOnOutputErrors } = await import('./output-errors.ts');
const { runCli } = await import('./run-cli.ts');

/** A terminal, npm and the launcher may each pass the same key press on: repeats within this time are one. */
const SAME_SIGNAL_MS = 1_000;

weighOutsideMemory();
collectWhenIdle();

/** Runs the command that was typed, with the signals of this process. Gives its exit code. */
async function runHere(): Promise<ExitCode> {
  const stopping = new AbortController();
  let firstSignalAt: number | null = null;

  const reloads: (() => Promise<void>)[] = [];
  // A terminal that is closed (SIGHUP) asks for an orderly stop as well; a supervisor, who has none, asks to read again.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && reloads.length > 0 && !process.stdin.isTTY && !process.stdout.isTTY) {
        for (const reload of reloads) void reload();
        return;
      }
      firstSignalAt ??= Date.now();
      if (Date.now() - firstSignalAt < SAME_SIGNAL_MS) stopping.abort(signal);
      // A second signal leaves at once. Everything acknowledged is durable already.
      else process.exit(signal === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted);
    });
  }
  // The launcher was killed: no other process can stop this one in an orderly way.
  if (process.channel !== undefined) {
    process.channel.unref();
    process.once('disconnect', () => stopping.abort('SIGTERM'));
  }
  // Only a daemon reads its configuration again.
  endOnOutputErrors(process, () => reloads.length > 0, process.exit);

  return await runCli(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    get stdin() {
      // Made only where a command asks: an open standard input keeps a process alive.
      return process.stdin;
    },
    env: process.env,
    cwd: process.cwd(),
    signal: stopping.signal,
    onReload: (reload) => reloads.push(reload),
  });
}

process.exitCode = await runHere();
