import { open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { addressWithoutCredentials } from '../../config/index.ts';
import { clauseOf, codeOf } from '../../core/blob/errors.ts';
import { type ContentName, HASH_TYPES, type NamedHash, parseNamedHash, parseVersionHash } from '../../core/blob/ids.ts';
import { createNodeHasher } from '../../hashing/index.ts';
import { DataFolder } from '../../storage/local/data-folder.ts';
import { type VerifiedBlob, verifyBlob } from '../../verify/verified-blob.ts';
import { type CliContext, EXIT, type ExitCode, print, printJson } from '../cli-context.ts';
import {
  addTargetOptions,
  type DaemonTarget,
  dataFolders,
  findDaemon,
  givenTarget,
  runningDaemon,
} from '../daemon-address.ts';
import { askDaemon, readAnswer, refusal } from '../daemon-client.ts';
import { CliError } from '../errors.ts';
import type { VerbOptions } from '../verb-options.ts';

export function define(command: Command): Command {
  return addTargetOptions(
    command
      .argument(
        '<hash or txid>',
        'version hash (0x and the 66-character form are accepted), or id of a mined transaction',
      )
      .option('-o, --output <file>', 'file to write; - writes to standard output', '-'),
  );
}

/** Exit code 3: the archive answered that it has not got it. */
export async function handle(
  options: VerbOptions,
  context: CliContext,
  [text = '']: readonly string[],
): Promise<ExitCode> {
  const name = parseNamedHash(text);
  const output = typeof options.own['output'] === 'string' ? options.own['output'] : '-';
  if (options.json && output === '-') {
    throw new CliError('cli/usage', '--json needs a file for the bytes.', {
      retryable: false,
      hint: 'Give -o <file>.',
    });
  }
  if (output === '-' && context.stdout.isTTY === true) {
    throw new CliError('cli/usage', 'Bytes are not written to a terminal.', {
      retryable: false,
      hint: 'Give -o <file>.',
    });
  }
  const blob = await fetchBlob(name, options, context);
  if (blob === null) {
    const asTransaction = name.hashType === null ? ', as a version hash or as a mined transaction' : '';
    context.stderr.write(`holdfast: the archive has not got ${name.versionHash}${asTransaction}.\n`);
    return EXIT.missing;
  }
  if (output === '-') {
    await new Promise<void>((done, fail) =>
      context.stdout.write(blob.bytes, (error) => (error ? fail(error) : done())),
    );
    return EXIT.done;
  }
  await writeWhole(resolve(context.cwd, output), blob.bytes);
  const facts = { versionHash: blob.versionHash, hashType: blob.hashType, sizeBytes: blob.bytes.length, file: output };
  if (options.json) printJson(context, facts);
  else print(context, `${output}: ${facts.sizeBytes} bytes, ${facts.hashType} ${facts.versionHash}, verified`);
  return EXIT.done;
}

async function fetchBlob(name: NamedHash, { config, own }: VerbOptions, context: CliContext) {
  const given = givenTarget(own);
  if (given.url === undefined && (await runningDaemon(config, context.cwd)) === null) {
    for (const folder of dataFolders(config, context.cwd)) {
      const found = await fromFolder(folder, name, context.signal);
      if (found !== null) return found;
    }
  }
  const target = await findDaemon(config, context.cwd, given);
  const blob = await fromDaemon(target, name, context.signal);
  if (blob !== null || name.hashType !== null) return blob;
  const content = await committedBy(target, name.versionHash, context.signal);
  return content && (await fromDaemon(target, content, context.signal));
}

const committed = z.object({ hashType: z.enum(HASH_TYPES), versionHash: z.string().transform(parseVersionHash) });

/** No blob has this hash: what the transaction with this id commits to. null: no walked block has such a one. */
async function committedBy(target: DaemonTarget, txid: string, signal: AbortSignal): Promise<ContentName | null> {
  const answer = await askDaemon(target, { path: `/v1/transactions/${txid}` }, signal);
  if (answer.status === 404 && refusal(answer).details['code'] === 'transaction/absent') return null;
  return readAnswer(answer, committed);
}

async function fromDaemon(target: DaemonTarget, name: NamedHash, signal: AbortSignal): Promise<VerifiedBlob | null> {
  const shown = name.hashType === 'blake2s256' ? `01${name.versionHash}` : name.versionHash;
  const answer = await askDaemon(target, { path: `/v1/blobs/${shown}` }, signal);
  if (answer.status === 404 && refusal(answer).details['code'] !== null) return null;
  if (answer.status !== 200) throw refusal(answer);
  const verified = verifyBlob({ ...name, bytes: answer.body }, await createNodeHasher());
  if (verified !== null) return verified;
  throw new CliError(
    'cli/wrong-bytes',
    `${addressWithoutCredentials(target.url)} gave bytes that do not hash to ${name.versionHash}.`,
    {
      retryable: true,
      hint: 'Ask another archive; nothing was written.',
    },
  );
}

/** No daemon runs on the folder: its files are read directly. null says only that the bytes are not there. */
async function fromFolder(path: string, name: NamedHash, signal: AbortSignal): Promise<VerifiedBlob | null> {
  const folder = await DataFolder.claimExisting(path);
  if (folder === null) return null;
  try {
    const { LocalStore } = await import('../../storage/local/local-store.ts');
    const store = await LocalStore.open(path);
    try {
      for (const hashType of name.hashType === null ? HASH_TYPES : [name.hashType]) {
        const { versionHash } = name;
        const bytes = await store.get({ hashType, versionHash }, signal);
        if (bytes === null) continue;
        const verified = verifyBlob({ hashType, versionHash, bytes }, await createNodeHasher());
        if (verified !== null) return verified;
        throw new CliError('cli/wrong-bytes', `The copy of ${name.versionHash} in ${path} is damaged.`, {
          retryable: false,
          hint: 'Start the daemon: it fetches it again while the node has it. Nothing was written.',
        });
      }
    } finally {
      await store.close();
    }
  } finally {
    await folder.release();
  }
  return null;
}

/** The whole file or nothing. What is there and is no plain file (a pipe, a device) is written into, never replaced. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const partial = `${path}.${process.pid}.part`;
  try {
    if (await isSpecial(path)) {
      await writeFile(path, bytes);
      return;
    }
    await writeSynced(partial, bytes);
    await rename(partial, path);
  } catch (cause) {
    await rm(partial, { force: true });
    throw new CliError('cli/file', `${path} cannot be written: ${clauseOf(cause)}.`, {
      details: { path },
      retryable: false,
      hint: 'Name a file in a folder that you may write with -o.',
      cause,
    });
  }
}

async function isSpecial(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    return !found.isFile() && !found.isDirectory();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}
