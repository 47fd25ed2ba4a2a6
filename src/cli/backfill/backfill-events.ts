import { z } from 'zod';

const name = { hashType: z.string(), versionHash: z.string() };
const answer = z.object({ source: z.string(), answered: z.string(), why: z.string().nullable() });
const notFetched = { ...name, height: z.number(), txid: z.string(), answers: z.array(answer) };

/** Events of a backfill that are shown to people; others are ignored. */
export const backfillEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('walking'), height: z.number(), target: z.number() }),
  z.object({
    event: z.literal('planned'),
    from: z.number(),
    to: z.number(),
    wanted: z.number(),
    atRisk: z.number(),
  }),
  z.object({
    event: z.literal('progress'),
    done: z.number(),
    wanted: z.number(),
    fetched: z.number(),
    fetchedBytes: z.number(),
    missing: z.number(),
    unasked: z.number(),
    atRisk: z.number(),
  }),
  z.object({ event: z.literal('would-fetch'), ...name, source: z.string(), sizeBytes: z.number().nullable() }),
  z.object({ event: z.literal('wrong-bytes'), ...name, source: z.string() }),
  z.object({ event: z.literal('fault'), source: z.string(), message: z.string() }),
  z.object({ event: z.literal('missing'), ...notFetched }),
  z.object({ event: z.literal('unasked'), ...notFetched }),
  z.object({ event: z.literal('placing'), notStored: z.number(), recordsWaiting: z.number() }),
]);
export type BackfillEvent = z.output<typeof backfillEvent>;

export const backfillReport = z.object({
  dryRun: z.boolean(),
  range: z.object({ from: z.number(), to: z.number() }),
  wanted: z.number(),
  fetched: z.number(),
  fetchedBytes: z.number(),
  foundHere: z.number(),
  missing: z.array(z.object(notFetched)),
  missingCount: z.number(),
  leftOutCount: z.number().default(0),
  unasked: z.array(z.object(notFetched)),
  unaskedCount: z.number(),
  notStored: z.number(),
  recordsWaiting: z.number(),
  evidenceWaiting: z.number(),
  recordedLost: z.number(),
  sources: z.array(
    z.object({
      source: z.string(),
      gave: z.number(),
      gaveBytes: z.number(),
      wrongBytes: z.number(),
      noAnswer: z.number(),
      lastFault: z.string().nullable(),
    }),
  ),
});
export type BackfillReport = z.output<typeof backfillReport>;
