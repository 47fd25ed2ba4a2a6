import { Command, CommanderError } from 'commander';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import { type CliContext, disarmed, EXIT, type ExitCode, interruptedCode } from './cli-context.ts';
import { exitCodeOf } from './exit-code.ts';
import { InterruptedError } from './interrupted.ts';
import { type ListedVerb, VERBS } from './verb-list.ts';
import { VERSION } from './version.ts';

/** Every command with its options and arguments: what documentation is held against. */
export async function everyCommand(): Promise<readonly Command[]> {
  return await Promise.all(
    VERBS.map(async (verb) => {
      const command = new Command(verb.name);
      await complete(command, verb);
      return command;
    }),
  );
}

/** Parses the words after `holdfast` and does what they say. Never throws: an error is one clear message and a code. */
export async function runCli(words: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = new Command('holdfast')
    .description('Archives layer-1 data blobs before the node prunes them.')
    .version(VERSION, '--version', 'print the version')
    .showHelpAfterError('(holdfast --help lists the commands)');
  const verbs = new Map<Command, ListedVerb>();
  for (const verb of VERBS) {
    const command = program.command(verb.name).description(verb.says);
    verbs.set(command, verb);
  }
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(withoutValues(text)),
      getOutHelpWidth: () => context.stdout.columns ?? 100,
    });
  }
  program.hook('preSubcommand', async (_program, command) => {
    const verb = verbs.get(command);
    if (verb === undefined) return;
    const { handle, readOptions } = await complete(command, verb);
    command.action(async () => {
      exitCode = await handle(readOptions(command, context), context, command.args);
    });
  });
  try {
    await program.parseAsync(asFlag(words), { from: 'user' });
    return exitCode;
  } catch (error) {
    return explain(error, context);
  }
}

/** Loads the verb, and adds its options and arguments to its command. */
async function complete(command: Command, { load, listsSettings = false }: ListedVerb) {
  const [{ define, handle }, { addCommonOptions, readOptions }] = await Promise.all([
    load(),
    import('./verb-options.ts'),
  ]);
  addCommonOptions(command, listsSettings);
  define(command);
  return { handle, readOptions };
}

/** Commander prints the help of `help status` without loading the verb first, and that of `status --help` after it. */
function asFlag(words: readonly string[]): readonly string[] {
  const [first, verb, ...rest] = words;
  return first === 'help' && verb !== undefined ? [verb, '--help', ...rest] : words;
}

/** The message names an unknown option without its value, which may be a password. */
function withoutValues(text: string): string {
  return text.replaceAll(/(--[\w-]+)=.*'/g, "$1=***'").replaceAll(/\/\/\S*@/g, '//***@');
}

function explain(error: unknown, context: CliContext): ExitCode {
  // Commander has printed help, version or the usage error itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const isInterrupted = error instanceof InterruptedError;
  if (isInterrupted || (context.signal.aborted && error === context.signal.reason)) {
    context.stderr.write('holdfast: interrupted before it was done.\n');
    if (isInterrupted) context.stderr.write(`  ${error.hint}\n`);
    return interruptedCode(context.signal);
  }
  context.stderr.write(disarmed(`holdfast: ${messageOf(error)}\n`));
  if (error instanceof HoldfastError) context.stderr.write(disarmed(`  ${error.hint}\n`));
  return exitCodeOf(error);
}
