import { HoldfastError } from '../core/blob/errors.ts';
import { EXIT, type ExitCode } from './cli-context.ts';

/** Errors that say: this cannot work with the configuration as it is. */
const CONFIGURATION = new Set([
  'cli/usage',
  'cli/no-node',
  'cli/no-folder',
  'node/invalid-argument',
  'http/port-in-use',
  'http/permission-denied',
  'http/bad-host',
  'http/bad-port',
  'http/bad-tokens-file',
  'cli/no-socket',
  'jobs/bad-parameters',
  'storage/in-use',
  'storage/not-a-folder',
  'storage/unusable-folder',
  'storage/other-chain',
  'archive/other-chain',
  'archive/bad-range',
  'source/bad-syntax',
  'sqlite/newer-than-program',
  'sqlite/older-than-program',
  'sqlite/migration-changed',
]);

export function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof HoldfastError)) return EXIT.failed;
  if (/^(config|malformed)\//.test(error.code) || CONFIGURATION.has(error.code)) return EXIT.usage;
  return EXIT.failed;
}
