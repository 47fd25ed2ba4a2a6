import { randomUUID } from 'node:crypto';
import { Argument, type Command } from 'commander';
import { ALERT_VERSION } from '../../core/alerts/alert-document.ts';
import { SYSTEM_CLOCK } from '../../core/time/clock.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { CliError } from '../errors.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return command
    .addArgument(new Argument('<action>', 'test: posts one alert that says that it is a test').choices(['test']))
    .addHelpText(
      'after',
      '\nExit codes: 0 it was taken; 1 it was not, with what was answered; 2 HOLDFAST_ALERT_URL is not set.',
    );
}

/** The test goes the daemon's way, with the same settings. */
export async function handle({ config, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const { alertUrl: url, alertSecret: secret, alertFormat: format } = config.values;
  if (url === null) throw noReceiver();
  const { AlertHook } = await import('../../core/alerts/alert-hook.ts');
  const hook = new AlertHook({ url, secret, format }, SYSTEM_CLOCK.wallMs);
  const id = randomUUID();
  try {
    const at = new Date(SYSTEM_CLOCK.wallMs()).toISOString();
    const message = 'This is a test of the alerts of Holdfast. Nothing is wrong.';
    const nothing = { archiver: null, subject: null, code: null, severity: null, hint: null, replaces: null };
    await hook.post(
      { version: ALERT_VERSION, id, event: 'test', at, message, ...nothing, standing: [] },
      context.signal,
    );
  } finally {
    await hook.close();
  }
  const isSigned = secret !== null;
  if (json) printJson(context, { id, format, isSigned });
  else
    print(
      context,
      `taken: a test in the format ${format}, ${isSigned ? 'signed' : 'not signed (HOLDFAST_ALERT_SECRET)'}`,
    );
  return EXIT.done;
}

function noReceiver(): CliError {
  return new CliError('cli/usage', 'Alerts have no receiver: HOLDFAST_ALERT_URL is not set.', {
    retryable: false,
    hint: 'Set it, or HOLDFAST_ALERT_URL_FILE, as the daemon has it.',
  });
}
