import { HoldfastError } from '../core/blob/errors.ts';

export type ConfigErrorCode = 'config/invalid' | 'config/missing' | 'config/unreadable-file';

/** A configuration that cannot be used. The command ends with exit code 2. */
export class ConfigError extends HoldfastError<ConfigErrorCode> {}
