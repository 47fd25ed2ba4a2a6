import { Command, CommanderError } from 'commander';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import { type CliContext, EXIT, type ExitCode, interruptedCode } from './cli-context.ts';
import { exitCodeOf } from './exit-code.ts';
import { readOptions, type VerbOptions } from './verb-options.ts';
import { VERSION } from './version.ts';

/** What a file of `verbs` exports. */
interface Verb {
  /** The command with its options and help. */
  readonly define: () => Command;
  readonly handle: (options: VerbOptions, context: CliContext, args: readonly string[]) => Promise<ExitCode>;
}

/**
 * Every verb in the order of the help. A verb is loaded when it is asked for: `holdfast status` starts without the
 * daemon's modules, in a third of the time.
 */
const VERBS = new Map<string, () => Promise<Verb>>([
  ['run', () => import('./verbs/run.ts')],
  ['serve', () => import('./verbs/serve.ts')],
  ['backfill', () => import('./verbs/backfill.ts')],
  ['get', () => import('./verbs/get.ts')],
  ['status', () => import('./verbs/status.ts')],
  ['submit', () => import('./verbs/submit.ts')],
  ['verify', () => import('./verbs/verify.ts')],
  ['check', () => import('./verbs/check.ts')],
  ['rebuild', () => import('./verbs/rebuild.ts')],
  ['withhold', () => import('./verbs/withhold.ts')],
  ['rpc', () => import('./verbs/rpc.ts')],
  ['devnode', () => import('./verbs/devnode.ts')],
  ['config', () => import('./verbs/config.ts')],
]);

/** The verb of that name; all of them where no verb has that name. */
export async function loadVerbs(name?: string): Promise<readonly Verb[]> {
  const named = name === undefined ? undefined : VERBS.get(name);
  return await Promise.all((named === undefined ? [...VERBS.values()] : [named]).map((load) => load()));
}

/** Parses the words after `holdfast` and does what they say. Never throws: an error is one clear message and a code. */
export async function runCli(words: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = new Command('holdfast')
    .description('Archives layer-1 data blobs before the node prunes them.')
    .version(VERSION, '--version', 'print the version')
    .showHelpAfterError('(holdfast --help lists the commands)');
  for (const { define, handle } of await loadVerbs(words[0])) {
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
