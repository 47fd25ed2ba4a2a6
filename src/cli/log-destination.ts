import type { Writable } from 'node:stream';
import type { DestinationStream } from 'pino';
import type { LogFormat } from '../core/observability/log-levels.ts';

/**
 * Opens the destination of log lines. `auto` gives text to a terminal and to commands whose output is for people, else
 * JSON. The text formatter is loaded only when it is used.
 */
export async function logDestination(
  format: LogFormat,
  destination: Writable & { readonly isTTY?: boolean },
  { isForPeople }: { readonly isForPeople: boolean },
): Promise<DestinationStream> {
  const isText = format === 'auto' ? isForPeople || destination.isTTY === true : format === 'text';
  if (!isText) return destination;
  const { humanLog } = await import('./human-log.ts');
  return humanLog(destination);
}
