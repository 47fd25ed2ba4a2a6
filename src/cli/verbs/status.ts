import type { Command } from 'commander';
import { z } from 'zod';
import { addressWithoutCredentials } from '../../config/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import { addTargetOptions, findDaemon, givenTarget } from '../daemon-address.ts';
import { askDaemon, readAnswer } from '../daemon-client.ts';
import { describeBytes, describeSeconds } from '../describe.ts';
import { type VerbOptions, verb } from '../verb-options.ts';

export function statusCommand(): Command {
  return addTargetOptions(verb('status', 'Say what the running daemon holds, how its node does, and what is wrong.'));
}

const status = z.looseObject({
  version: z.string(),
  emulated: z.boolean(),
  node: z.looseObject({
    name: z.string(),
    reachable: z.boolean(),
    height: z.number().nullable(),
  }),
  content: z.object({
    seen: z.number(),
    spooled: z.number(),
    stored: z.number(),
    storedBytes: z.number(),
    failing: z.number(),
  }),
  smallestSlackSeconds: z.number().nullable(),
  chain: z.looseObject({
    outage: z
      .looseObject({
        from: z.number(),
        to: z.number(),
        endedAt: z.string().nullable(),
        outcome: z.record(z.string(), z.number()).nullable(),
      })
      .nullable()
      .default(null),
  }),
  conditions: z.array(z.looseObject({ code: z.string(), message: z.string(), hint: z.string() })),
});

export async function showStatus({ config, json, own }: VerbOptions, context: CliContext): Promise<ExitCode> {
  const target = await findDaemon(config, context.cwd, givenTarget(own));
  const found = readAnswer(await askDaemon(target, { path: '/v1/status' }, context.signal), status);
  if (json) {
    printJson(context, found);
    return EXIT.done;
  }
  const { content, node } = found;
  const height = node.height === null ? '' : `, height ${node.height}`;
  print(context, `holdfast ${found.version} at ${addressWithoutCredentials(target.url)}`);
  print(context, `chain    ${found.emulated ? 'emulated (nothing of it is real)' : 'the one that the node follows'}`);
  print(context, `node     ${node.name}, ${node.reachable ? 'reachable' : 'not reachable'}${height}`);
  print(context, `stored   ${content.stored} blobs, ${describeBytes(content.storedBytes)}`);
  print(context, `spooled  ${content.spooled} (durable, not read back yet)`);
  print(context, `seen     ${content.seen} (not here yet; ${content.failing} failed at least once)`);
  const slack = found.smallestSlackSeconds;
  print(
    context,
    `slack    ${slack === null ? 'nothing is waiting' : `${describeSeconds(slack)} until the node may prune`}`,
  );
  const { outage } = found.chain;
  if (outage !== null && outage.endedAt !== null) {
    const outcome = Object.entries(outage.outcome ?? {}).map(([kind, count]) => `${count} ${kind}`);
    print(context, `gap      heights ${outage.from} to ${outage.to}, closed ${outage.endedAt}: ${outcome.join(', ')}`);
  }
  for (const { code, message, hint } of found.conditions) {
    print(context, `! ${message} (${code})`);
    print(context, `  ${hint}`);
  }
  return EXIT.done;
}
