import { readFileSync } from 'node:fs';
import { z } from 'zod';

const recording = z.object({
  name: z.string(),
  request: z.object({ method: z.string(), path: z.string(), body: z.string() }),
  response: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.string() }),
});
export type Recording = z.infer<typeof recording>;

/** Real exchanges with release 5.1.1. */
export const RECORDINGS = read('release-5.1.json');

/**
 * Another 34 exchanges, recorded from release 5.1.1 in regtest: submissions with `null` and with missing parameters,
 * and look-ups by transaction after a resubmission.
 */
export const SUBMISSIONS = read('release-5.1-submissions.json');

function read(file: string): readonly Recording[] {
  return z.array(recording).parse(JSON.parse(readFileSync(new URL(`../vectors/${file}`, import.meta.url), 'utf8')));
}

export function recorded(name: string): Recording {
  const found = RECORDINGS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no recording "${name}".`);
  return found;
}

/** The recorded answer with the id of the current call. */
export function bodyWithId(one: Recording, id: string): string {
  return one.response.body.replace(/"id":("[^"]*"|\d+|null)\}\s*$/, `"id":${JSON.stringify(id)}}\n`);
}
