import type { Writable } from 'node:stream';
import { PinoPretty } from 'pino-pretty';

/** Log lines for people: time, level, message, hint. */
export function humanLog(destination: Writable & { readonly isTTY?: boolean }) {
  return PinoPretty({
    colorize: destination.isTTY === true,
    translateTime: 'SYS:HH:MM:ss',
    destination,
    sync: true,
    singleLine: true,
  });
}
