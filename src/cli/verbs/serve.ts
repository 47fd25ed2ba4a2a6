import type { Command } from 'commander';
import { createLogger } from '../../observability/logger.ts';
import { startReader } from '../../serve.ts';
import { type CliContext, type ExitCode, interruptedCode } from '../cli-context.ts';
import { type VerbOptions, verb } from '../verb-options.ts';
import { VERSION } from '../version.ts';

export function serveCommand(): Command {
  return verb('serve', 'Answer bytes and proofs out of S3 and IPFS, without a catalog: any number of these, anywhere.');
}

export async function serve({ config }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const log = createLogger(config.values.logLevel, context.stdout);
  const reader = await startReader({ settings: config.values, version: VERSION, log });
  const { signal } = context;
  if (!signal.aborted) await new Promise((wake) => signal.addEventListener('abort', wake, { once: true }));
  log.info({ signal: String(signal.reason) }, 'stopping');
  await reader.stop();
  log.info('stopped');
  return interruptedCode(signal);
}
