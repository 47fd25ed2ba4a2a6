import { resolve } from 'node:path';
import { type Config, SETTING_NAMES, SETTINGS, type SettingName } from '../config/index.ts';
import { type JobEvent, type JobOutcome, prepareJob } from '../core/jobs/job-kind.ts';
import { type AskedJob, attachJob } from './attached-job.ts';
import type { CliContext } from './cli-context.ts';
import { archiveFolder, runningDaemon } from './daemon-address.ts';
import { CliError } from './errors.ts';
import type { VerbOptions } from './verb-options.ts';
import { VERSION } from './version.ts';

const ALIVE_MS = 60_000;

/**
 * Does a long operation on the archive of the data folder: inside of the daemon that runs there, else alone, with the
 * lock of the folder taken. What it tells comes to `onEvent` either way. Throws what the operation threw; `CliError`
 * `cli/daemon-gone` when the daemon went away meanwhile; the signal's reason when it was asked to stop, after it has.
 */
export async function runJob(
  asked: AskedJob,
  options: VerbOptions,
  context: CliContext,
  onEvent: (event: JobEvent) => void,
): Promise<JobOutcome> {
  const running = await runningDaemon(options.config, context.cwd);
  if (running === null) return await runAlone(asked, options, context, onEvent);
  refuseForeignSettings(options.config, running.url);
  const { url, adminSocket: socket, pid } = running;
  if (socket !== null)
    return await attachJob(asked, { url, socket, token: null, keepsToken: false }, context.signal, onEvent);
  throw new CliError('cli/no-socket', `The daemon on the data folder (process ${pid}, ${url}) has no local socket.`, {
    details: { pid, url },
    retryable: false,
    hint: 'Its log says why; else stop it, and type the command again.',
  });
}

/** Settings of the command itself beside a daemon: the choice of the archive, and the log. */
const OWN_SETTINGS: readonly SettingName[] = ['dataDir', 'logLevel', 'logFormat'];

/** The daemon does the work with its own settings: a flag that names others would be ignored, and its answer believed. */
function refuseForeignSettings({ origins }: Config, url: string): void {
  const foreign = SETTING_NAMES.filter((name) => origins[name] === 'flag' && !OWN_SETTINGS.includes(name));
  if (foreign.length === 0) return;
  const flags = foreign.map((name) => SETTINGS[name].flag).join(', ');
  throw new CliError('cli/usage', `The daemon at ${url} does this with its own settings: ${flags} would say nothing.`, {
    details: { url },
    retryable: false,
    hint: 'Leave it out, or change the settings of the daemon and start it again.',
  });
}

async function runAlone(
  { kind, parameters, needsNode = false }: AskedJob,
  { config }: VerbOptions,
  context: CliContext,
  onEvent: (event: JobEvent) => void,
): Promise<JobOutcome> {
  const dataDir = needsNode ? resolve(context.cwd, config.values.dataDir) : archiveFolder(config, context.cwd);
  const settings = { ...config.values, dataDir };
  const level = config.origins.logLevel === 'default' ? 'error' : settings.logLevel;
  // A command that asks a daemon starts without the daemon's own modules.
  const [{ openUpkeep }, { createLogger }, { logDestination }] = await Promise.all([
    import('../app/daemon.ts'),
    import('../core/observability/logger.ts'),
    import('./log-destination.ts'),
  ]);
  const log = createLogger(level, await logDestination(settings.logFormat, context.stderr, { isForPeople: true }));
  const { jobs, close } = await openUpkeep({
    settings,
    version: VERSION,
    emulated: false,
    log,
    remakesDamagedCatalog: kind === 'rebuild',
  });
  // The hashing thread keeps no process alive, and at times nothing else is under way.
  const alive = setInterval(() => {}, ALIVE_MS);
  try {
    const found = jobs.find((job) => job.kind === kind);
    if (found === undefined) throw new TypeError(`no job of the kind ${kind} is put together`);
    return await prepareJob(found, parameters)({ signal: context.signal, report: onEvent });
  } finally {
    clearInterval(alive);
    await close();
  }
}
