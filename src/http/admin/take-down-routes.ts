import { z } from 'zod';
import { WITHHOLDING } from '../../reading/withhold/take-down-jobs.ts';
import type { WithheldEntry } from '../../reading/withhold/take-downs.ts';
import { jsonAnswer } from '../answer.ts';
import { NAMED_HASH, NOTHING } from '../parameters.ts';
import { defineDeleteRoute, definePostRoute, defineRoute, type Route } from '../route.ts';
import type { TakeDownView } from './admin-view.ts';

const WITHHELD = z.object({
  versionHash: z.string(),
  hashType: z.string(),
  archiver: z.string(),
  reason: z.string(),
  publicReason: z.string().nullable(),
  at: z.iso.datetime(),
  purge: z.boolean(),
});
const REPORT = z.looseObject({ undelivered: z.record(z.string(), z.string()) });
const MAX_BYTES = 16_384;

/** Take a blob down, see what is, and take that back. */
export function takeDownRoutes(takeDowns: TakeDownView): Route[] {
  return [
    defineRoute({
      path: '/admin/withhold',
      access: 'admin',
      says: 'What is withheld, by whom and why.',
      answers: [{ mediaType: 'application/json', schema: z.object({ withheld: z.array(WITHHELD) }) }],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      answer: () => jsonAnswer({ withheld: takeDowns.list().map(onWire) }),
    }),
    definePostRoute({
      path: '/admin/withhold',
      access: 'admin',
      says: 'Stops serving a blob, and deletes its bytes where `purge` is true; says where they could not be. `reason` is for operators, `publicReason` for everybody who asks for the blob.',
      answers: [{ mediaType: 'application/json', schema: REPORT }],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      body: WITHHOLDING,
      maxBytes: MAX_BYTES,
      async answer({ body: { hash, ...how }, signal }) {
        const { withheld, ...report } = await takeDowns.withhold(hash, how, signal);
        return jsonAnswer({ withheld: withheld.map(onWire), ...report });
      },
    }),
    defineDeleteRoute({
      path: '/admin/withhold/:versionHash',
      access: 'admin',
      says: 'Serves a blob again, as far as its bytes can be found or fetched.',
      answers: [{ mediaType: 'application/json', schema: REPORT }],
      problems: ['archive/not-withheld', 'malformed/version-hash'],
      parameters: NAMED_HASH,
      query: NOTHING,
      async answer({ parameters, signal }) {
        return jsonAnswer(await takeDowns.revoke(parameters.versionHash, signal));
      },
    }),
  ];
}

function onWire(entry: WithheldEntry): z.input<typeof WITHHELD> {
  const { versionHash, hashType, archiver, reason, publicReason, atMs, purge } = entry;
  return { versionHash, hashType, archiver, reason, publicReason, at: new Date(atMs).toISOString(), purge };
}
