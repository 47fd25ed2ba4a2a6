import { openSync, readSync, writeSync } from 'node:fs';

/** Reads bytes that were kept. */
export type KeptBytes = () => Uint8Array;
/** Keeps bytes, which change no more. */
export type KeepBytes = (bytes: Uint8Array) => KeptBytes;

export const inMemory: KeepBytes = (bytes) => () => bytes;

/** Keeps bytes in a file that only grows, so that they are no memory of this process. The file is open until the process ends. */
export function inFile(path: string): KeepBytes {
  const descriptor = openSync(path, 'wx+');
  let end = 0;
  return (bytes) => {
    const [at, sizeBytes] = [end, bytes.length];
    end += writeSync(descriptor, bytes, 0, sizeBytes, at);
    return () => {
      const read = new Uint8Array(sizeBytes);
      readSync(descriptor, read, 0, sizeBytes, at);
      return read;
    };
  };
}
