import { HoldfastError } from '../core/blob/errors.ts';

export type CliErrorCode =
  | 'cli/usage'
  | 'cli/no-node'
  | 'cli/no-daemon'
  | 'cli/unproven-address'
  | 'cli/no-folder'
  | 'cli/daemon-answer'
  | 'cli/cannot-tell'
  | 'cli/daemon-gone'
  | 'cli/no-socket'
  | 'cli/file'
  | 'cli/wrong-bytes';

export class CliError extends HoldfastError<CliErrorCode> {}
