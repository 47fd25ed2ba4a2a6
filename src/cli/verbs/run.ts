import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Daemon } from '../../app/daemon.ts';
import type { SettingValues } from '../../config/index.ts';
import { createLogger, LevelSwitch, type Logger } from '../../core/observability/logger.ts';
import type { Devnode } from '../../devnode/index.ts';
import { DataFolder } from '../../storage/local/data-folder.ts';
import { type CliContext, type ExitCode, interruptedCode } from '../cli-context.ts';
import { devFolder } from '../daemon-address.ts';
import { CliError } from '../errors.ts';
import { logDestination } from '../log-destination.ts';
import { type Reloadable, reloader } from '../reload.ts';
import type { Reporter, ReporterFacts } from '../reporter.ts';
import { stopInTime } from '../stop-in-time.ts';
import type { VerbOptions } from '../verb-options.ts';
import { VERSION } from '../version.ts';

export function define(command: Command): Command {
  return command.option(
    '--dev',
    'show progress for people; without a node address, emulate the chain in this process (data under <data dir>/dev)',
  );
}

const BLOCKS_EVERY_MS = 3_000;

export async function handle({ config, reread, own }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const dev = own['dev'] === true;
  const emulated = dev && config.values.nodeUrl === null;
  if (!dev && config.values.nodeUrl === null) throw noNode();
  const dataDir = resolve(context.cwd, emulated ? devFolder(config.values.dataDir) : config.values.dataDir);
  // Standard output is where containers expect a log; with --dev the progress for people is there.
  // Between progress lines, only what is wrong is worth a line, unless a level was asked for.
  const level = dev && config.origins.logLevel === 'default' ? 'warn' : config.values.logLevel;
  const levels = new LevelSwitch(level);
  const lines = dev ? context.stderr : context.stdout;
  const log = createLogger(levels, await logDestination(config.values.logFormat, lines, { isForPeople: dev }));
  const settingsOf = (values: SettingValues) => ({ ...values, dataDir, ...(devnode === null ? {} : nodeOf(devnode)) });
  const { promise: running, resolve: isRunning } = Promise.withResolvers<Reloadable>();
  context.onReload?.(reloader(config, reread, levels, log, running));
  const { startDaemon } = await import('../../app/daemon.ts');
  // Claimed before the emulated chain is opened: a second process must not mine on the first one's.
  const folder = await DataFolder.claim(dataDir);
  const devnode = emulated ? await startEmulation(dataDir, folder) : null;
  try {
    const daemon = await startDaemon({
      settings: settingsOf(config.values),
      version: VERSION,
      emulated,
      log,
      levels,
      folder,
    });
    isRunning({ reload: (values) => daemon.reload(settingsOf(values)) });
    const reporter = dev ? await startProgress(daemon, { emulated, devnode, dataDir }, context) : null;
    const { stopSeconds: graceSeconds } = config.values;
    return await untilStopped(daemon, reporter, { log, signal: context.signal, graceSeconds });
  } finally {
    await devnode?.close();
  }
}

async function untilStopped(
  daemon: Daemon,
  reporter: Reporter | null,
  { log, signal, graceSeconds }: { log: Logger; signal: AbortSignal; graceSeconds: number },
) {
  if (!signal.aborted) await new Promise((wake) => signal.addEventListener('abort', wake, { once: true }));
  log.info({ signal: String(signal.reason) }, 'stopping');
  // First: from here on, what it shows is closed one by one.
  reporter?.stop();
  const stopping = await stopInTime(daemon.stop(), graceSeconds * 1_000);
  if (stopping === 'late') {
    log.error({ graceSeconds }, 'not stopped in time: leaving at once; everything acknowledged is durable');
    process.exit(interruptedCode(signal));
  }
  log.info('stopped');
  return interruptedCode(signal);
}

/** A daemon in production loads no progress line and no emulated node. */
async function startProgress(daemon: Daemon, facts: ReporterFacts, context: CliContext): Promise<Reporter> {
  const { startReporter } = await import('../reporter.ts');
  return startReporter(daemon, facts, context);
}

async function startEmulation(dataDir: string, folder: DataFolder): Promise<Devnode> {
  const { createDevnode } = await import('../../devnode/index.ts');
  const starting = createDevnode({
    seed: 'holdfast --dev',
    blocksEveryMs: BLOCKS_EVERY_MS,
    seedRecordedBlobs: true,
    dataDir: join(dataDir, 'node'),
  });
  try {
    return await starting;
  } catch (error) {
    await folder.release();
    throw error;
  }
}

function nodeOf(devnode: Devnode) {
  return { nodeUrl: devnode.url, nodeUser: devnode.username, nodePassword: devnode.password, nodeCookieFile: null };
}

function noNode(): CliError {
  return new CliError('cli/no-node', 'No node address is configured.', {
    retryable: false,
    hint: 'Set HOLDFAST_NODE_URL=http://user:password@host:port, or give --dev to archive an emulated chain.',
  });
}
