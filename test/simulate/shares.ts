import { type ChildProcess, fork } from 'node:child_process';
import { Tally } from './tally.ts';

/** One of several processes, each of which takes every so manieth seed. */
export interface Share {
  readonly number: number;
  readonly of: number;
}

export const ALL: Share = { number: 0, of: 1 };

/** Tells a share to end after the seed that goes on. */
export const END = 'end';

export function shareOf(text: string): Share {
  const [number = 0, of = 1] = text.split('/').map(Number);
  return { number, of };
}

/** Each share in a process of its own, which ends when this one is told to, and says which of its seeds fail; gives what all of them have counted. */
export async function inShares(script: string, words: readonly string[], jobs: number): Promise<Tally> {
  const tally = new Tally();
  const all = Array.from({ length: jobs }, (_, number) => fork(script, [...words, '--share', `${number}/${jobs}`]));
  // A message waits until the share listens. A signal would kill a share that is not that far.
  const end = () => {
    for (const child of all) child.send(END, () => {});
  };
  process.on('SIGTERM', end).on('SIGINT', end);
  await Promise.all(all.map((child) => told(child, tally)));
  return tally;
}

/** A share that ends without telling what it counted has failed, whatever the reason. */
function told(child: ChildProcess, tally: Tally): Promise<void> {
  let isTold = false;
  child.on('message', (message) => {
    isTold = true;
    tally.merge(message);
  });
  return new Promise((resolve) =>
    child.once('close', () => {
      if (!isTold) tally.addFailure();
      resolve();
    }),
  );
}
