import type { HttpOptions } from './config.ts';

export type Report = (error: unknown, requestId: string) => void;

/** A callback that throws must not cost the client its answer; it has no other way to tell. */
export function guarded(onServerError: HttpOptions['onServerError']): Report {
  return (error, requestId) => {
    try {
      onServerError(error, requestId);
    } catch {
      // Nothing is left to report to.
    }
  };
}
