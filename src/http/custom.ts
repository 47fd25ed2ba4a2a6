import { z } from 'zod';
import { parseVersionHash } from '../core/blob/ids.ts';
import type { Reader } from '../view/archive-view.ts';
import { BYTES_ANSWERS, bytesAnswer, LOOKUP_PROBLEMS } from './blobs.ts';
import { NOTHING } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { defineRoute, type Route } from './route.ts';

export const CUSTOM_PATH = '/v1/custom/:versionHash/:keccak';

const HASH = z
  .string()
  .meta({ pattern: '^[0-9a-fA-F]{64}$' })
  .transform((text) => parseVersionHash(text));

/** Both hashes of a custom commitment. */
export const CUSTOM_NAME = z.object({ versionHash: HASH, keccak: HASH });

/** Bytes that match neither hash: by a name of their own, on no other route, and never called verified. */
export function customRoute(reader: Reader): Route {
  return defineRoute({
    path: CUSTOM_PATH,
    says: 'Bytes of a custom commitment (dialect svc): they have this keccak256, and match the version hash by no hash.',
    answers: BYTES_ANSWERS,
    problems: ['custom/absent', 'http/range-not-satisfiable', ...LOOKUP_PROBLEMS],
    parameters: CUSTOM_NAME,
    query: NOTHING,
    async answer(request) {
      const { versionHash, keccak } = request.parameters;
      const given = await reader.open({ versionHash, keccak }, request);
      if (given.kind !== 'absent') return bytesAnswer(given, request.parameters, request);
      return problemAnswer('custom/absent', `No bytes with keccak256 ${keccak} were kept for ${versionHash}.`);
    },
  });
}
