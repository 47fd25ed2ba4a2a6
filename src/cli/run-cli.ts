import { Command, CommanderError } from 'commander';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import { type CliContext, EXIT, type ExitCode, interruptedCode } from './cli-context.ts';
import { exitCodeOf } from './exit-code.ts';
import { readOptions, type VerbOptions } from './verb-options.ts';
import { backfill, backfillCommand } from './verbs/backfill.ts';
import { check, checkCommand } from './verbs/check.ts';
import { config, configCommand } from './verbs/config.ts';
import { devnode, devnodeCommand } from './verbs/devnode.ts';
import { get, getCommand } from './verbs/get.ts';
import { rebuild, rebuildCommand } from './verbs/rebuild.ts';
import { rpc, rpcCommand } from './verbs/rpc.ts';
import { run, runCommand } from './verbs/run.ts';
import { serve, serveCommand } from './verbs/serve.ts';
import { showStatus, statusCommand } from './verbs/status.ts';
import { submit, submitCommand } from './verbs/submit.ts';
import { verifyCommand, verifyFile } from './verbs/verify.ts';
import { withhold, withholdCommand } from './verbs/withhold.ts';
import { VERSION } from './version.ts';

type Handler = (options: VerbOptions, context: CliContext, args: readonly string[]) => Promise<ExitCode>;

const VERBS: readonly (readonly [() => Command, Handler])[] = [
  [runCommand, run],
  [serveCommand, serve],
  [backfillCommand, backfill],
  [getCommand, (options, context, [hash = '']) => get(hash, options, context)],
  [statusCommand, showStatus],
  [submitCommand, (options, context, [file = '']) => submit(file, options, context)],
  [verifyCommand, (options, context, [file = '']) => verifyFile(file, options, context)],
  [checkCommand, check],
  [rebuildCommand, rebuild],
  [withholdCommand, (options, context, [hash]) => withhold(hash, options, context)],
  [rpcCommand, (options, context, words) => rpc(words, options, context)],
  [devnodeCommand, devnode],
  [configCommand, config],
];

/** Each command as it is defined: what documentation is held against. */
export const COMMANDS: readonly (() => Command)[] = VERBS.map(([define]) => define);

/** Parses the words after `holdfast` and does what they say. Never throws: an error is one clear message and a code. */
export async function runCli(words: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = new Command('holdfast')
    .description('Archives layer-1 data blobs before the node prunes them.')
    .version(VERSION, '--version', 'print the version')
    .showHelpAfterError('(holdfast --help lists the commands)');
  for (const [define, handle] of VERBS) {
    const command = define();
    command.action(async () => {
      exitCode = await handle(readOptions(command, context), context, command.args);
    });
    program.addCommand(command);
  }
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(withoutValues(text)),
      getOutHelpWidth: () => context.stdout.columns ?? 100,
    });
  }
  try {
    await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    return explain(error, context);
  }
}

/** What is not known is named, but not the value that was given with it: it may be a password. */
function withoutValues(text: string): string {
  return text.replaceAll(/(--[\w-]+)=.*'/g, "$1=***'").replaceAll(/\/\/\S*@/g, '//***@');
}

function explain(error: unknown, context: CliContext): ExitCode {
  // Commander has printed help, version or the usage error itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (context.signal.aborted && error === context.signal.reason) {
    context.stderr.write('holdfast: interrupted before it was done.\n');
    return interruptedCode(context.signal);
  }
  context.stderr.write(`holdfast: ${messageOf(error)}\n`);
  if (error instanceof HoldfastError) context.stderr.write(`  ${error.hint}\n`);
  return exitCodeOf(error);
}
