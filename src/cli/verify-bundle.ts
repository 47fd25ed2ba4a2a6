import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { clauseOf } from '../core/blob/errors.ts';
import { createNodeHasher } from '../hashing/index.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from './cli-context.ts';
import { describeBytes } from './describe.ts';
import { CliError } from './errors.ts';
import type { VerbOptions } from './verb-options.ts';

const CHUNK_BYTES = 1_048_576;
/** Flags about one blob, which mean nothing for a bundle. */
const OF_ONE_BLOB = ['proof', 'hash', 'level', 'network', 'leastWork', 'headers', 'checkpoint'];

/** Exit code 0: all of it holds. 3: something is wrong or missing, and is named. */
export async function verifyBundle(file: string, { own, json }: VerbOptions, context: CliContext): Promise<ExitCode> {
  if (OF_ONE_BLOB.some((name) => own[name] !== undefined)) throw ofOneBlob();
  const path = resolve(context.cwd, file);
  const [{ checkBundle }, hasher] = await Promise.all([import('../bundle/check-bundle.ts'), createNodeHasher()]);
  const found = await reading(
    path,
    async () => {
      const handle = await open(path);
      return await checkBundle(
        file,
        handle.createReadStream({ highWaterMark: CHUNK_BYTES, signal: context.signal }),
        hasher,
      );
    },
    context.signal,
  );
  const verified = found.wrongCount === 0;
  if (json) printJson(context, { file, level: 'inclusion', verified, ...found });
  else {
    for (const { path: where, why } of found.wrong) print(context, `WRONG   ${where}: ${why}`);
    const { manifest, blobs, blobBytes, records } = found;
    if (manifest !== null) {
      print(
        context,
        `chain ${manifest.chain}, heights ${manifest.from} to ${manifest.to}, up to block ${manifest.blockHash}`,
      );
      print(context, `inventory ${manifest.inventory}`);
    }
    print(context, `${blobs} blobs (${describeBytes(blobBytes)}) hash to their names, ${records} records hold`);
    print(context, verified ? SAYS : `${found.wrongCount} things are WRONG or missing.`);
  }
  return verified ? EXIT.done : EXIT.missing;
}

const SAYS =
  'The bundle is whole. Each record stands in a header; that these headers are of the chain, a node says, or an archive that gives the same inventory.';

async function reading<T>(path: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    signal.throwIfAborted();
    throw new CliError('cli/file', `${path} cannot be read: ${clauseOf(cause)}.`, {
      details: { path },
      retryable: false,
      hint: 'Name a bundle that you may read.',
      cause,
    });
  }
}

function ofOneBlob(): CliError {
  return new CliError(
    'cli/usage',
    'A bundle has its own records: --bundle goes with none of the options for one blob.',
    {
      retryable: false,
      hint: 'Type holdfast verify --bundle <file.car>.',
    },
  );
}
