import type { Command } from 'commander';
import { type CliContext, EXIT, type ExitCode } from '../cli-context.ts';
import { nodeToAsk } from '../configured-node.ts';
import { CliError } from '../errors.ts';
import { CallWords } from '../rpc/call-words.ts';
import { RPC_OPERATIONS, type RpcOperation } from '../rpc/rpc-operations.ts';
import { printResult, printResultJson } from '../rpc/show-result.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  const operations = RPC_OPERATIONS.map(({ names, words }) => `  ${names[0]} ${words}`).join('\n');
  return command
    .argument('<operation>', 'name as in the specification, or as a release line spells it')
    .argument('[args...]', 'in the order of the specification; null leaves an optional one out')
    .option('--wallet <name>', 'wallet of the node, where several are loaded')
    .addHelpText('after', `\nOperations:\n${operations}\n\nArguments that begin with a dash go after --.`);
}

export async function handle(options: VerbOptions, context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const [name = '', ...rest] = words;
  const operation = findOperation(name);
  const call = operation.call(new CallWords(`${name} ${operation.words}`, rest, context.cwd));
  const { wallet } = options.own;
  const client = await nodeToAsk(options.config, context.cwd);
  try {
    const where = typeof wallet === 'string' ? { wallet } : {};
    const result = await client.run(call, { signal: context.signal, ...where });
    if (options.json) printResultJson(context, result);
    else printResult(context, result);
    return EXIT.done;
  } finally {
    await client.close();
  }
}

function findOperation(name: string): RpcOperation {
  const found = RPC_OPERATIONS.find(({ names }) => names.includes(name.toLowerCase()));
  if (found !== undefined) return found;
  throw new CliError('cli/usage', `There is no operation ${name}.`, {
    retryable: false,
    hint: 'See `holdfast rpc --help` for all of them.',
  });
}
