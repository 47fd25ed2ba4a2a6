import { type DestinationStream, type Logger, pino } from 'pino';
import { LevelSwitch } from './level-switch.ts';
import type { LogLevel } from './log-levels.ts';

export type { Logger } from 'pino';
export { LevelSwitch } from './level-switch.ts';

/** One JSON line a decision that matters. Errors are written with code, details and hint; secrets never come here. */
export function createLogger(level: LogLevel | LevelSwitch, destination: DestinationStream): Logger {
  const levels = level instanceof LevelSwitch ? level : new LevelSwitch(level);
  return pino(
    {
      // A child keeps the level of its birth: the switch decides, for all of them.
      level: 'trace',
      hooks: {
        logMethod(words, method, value) {
          if (levels.admits(value)) method.apply(this, words);
        },
      },
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    destination,
  );
}

/** Facts of an error for a log line: code, message, hint, details and the causes' messages; a stack only for bugs. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const described: Record<string, unknown> = { message: error.message };
  if ('code' in error && typeof error.code === 'string') described['code'] = error.code;
  if ('hint' in error && typeof error.hint === 'string') described['hint'] = error.hint;
  else described['stack'] = error.stack;
  if ('details' in error && typeof error.details === 'object') described['details'] = error.details;
  if (error.cause instanceof Error) described['cause'] = error.cause.message;
  return described;
}
