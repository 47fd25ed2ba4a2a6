import type { Command } from 'commander';
import type { RunningReader } from '../../app/serve.ts';
import { createLogger, LevelSwitch } from '../../core/observability/logger.ts';
import { type CliContext, type ExitCode, interruptedCode } from '../cli-context.ts';
import { logDestination } from '../log-destination.ts';
import { reloader } from '../reload.ts';
import type { VerbOptions } from '../verb-options.ts';
import { VERSION } from '../version.ts';

export function define(command: Command): Command {
  return command;
}

export async function handle({ config, reread }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const levels = new LevelSwitch(config.values.logLevel);
  const destination = await logDestination(config.values.logFormat, context.stdout, { isForPeople: false });
  const log = createLogger(levels, destination);
  const { promise: running, resolve: isRunning } = Promise.withResolvers<RunningReader>();
  context.onReload?.(reloader(config, reread, levels, log, running));
  const { startReader } = await import('../../app/serve.ts');
  const reader = await startReader({ settings: config.values, version: VERSION, log });
  isRunning(reader);
  const { signal } = context;
  if (!signal.aborted) await new Promise((wake) => signal.addEventListener('abort', wake, { once: true }));
  log.info({ signal: String(signal.reason) }, 'stopping');
  await reader.stop();
  log.info('stopped');
  return interruptedCode(signal);
}
