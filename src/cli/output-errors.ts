import type { Writable } from 'node:stream';
import { clauseOf, codeOf } from '../core/blob/errors.ts';
import { EXIT, type ExitCode } from './cli-context.ts';

/** Errors of the disk below a log file, which may take lines again later. */
const OF_A_DISK: ReadonlySet<string | null> = new Set(['ENOSPC', 'EDQUOT', 'EIO']);

/**
 * Says what becomes of a command that cannot write its output. A daemon drops lines for which its disk has no room, since
 * its backends may still take blobs. Any other command ends with a plain message.
 */
export function endOnOutputErrors(
  { stdout, stderr }: { readonly stdout: Writable; readonly stderr: Writable },
  isDaemon: () => boolean,
  exit: (code: ExitCode) => void,
): void {
  stdout.on('error', (error) => {
    const code = codeOf(error);
    if (isDaemon() && OF_A_DISK.has(code)) return;
    // A reader that left early (`| head`) is not an error of Holdfast.
    if (code !== 'EPIPE') {
      stderr.write(`holdfast: Standard output cannot be written: ${clauseOf(error)}.\n`);
      stderr.write('  Send it to a place with room, and type the command again.\n');
    }
    exit(EXIT.failed);
  });
  // No place is left for a message about standard error.
  stderr.on('error', () => {});
}
