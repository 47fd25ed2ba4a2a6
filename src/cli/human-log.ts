import { Writable } from 'node:stream';
import { PinoPretty } from 'pino-pretty';

/** Log lines for people: time, level, message, hint. */
export function humanLog(destination: Writable & { readonly isTTY?: boolean }) {
  // The formatter ends for good with the first error of its stream. A disk that is full now may take the next line.
  const lines = new Writable({
    write(chunk, _encoding, done) {
      destination.write(chunk);
      done();
    },
  });
  return PinoPretty({
    colorize: destination.isTTY === true,
    translateTime: 'SYS:HH:MM:ss',
    destination: lines,
    sync: true,
    singleLine: true,
  });
}
