import { z } from 'zod';
import { parseVersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { CustomView } from '../view/custom-view.ts';
import { bodyOf, IMMUTABLE } from './answer.ts';

import { withheldAnswer } from './blob-lookup.ts';

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
export function customRoutes(view: CustomView): Route[] {
  return [
    defineRoute({
      path: CUSTOM_PATH,
      says: 'Bytes of a custom commitment (dialect svc): they have this keccak256, and match the version hash by no hash.',
      answers: [{ mediaType: 'application/octet-stream', schema: null }],
      problems: ['malformed/version-hash', 'custom/absent', 'blob/withheld', 'blob/store-fault'],
      parameters: CUSTOM_NAME,
      query: NOTHING,
      async answer({ parameters: { versionHash, keccak }, signal, hold }) {
        await hold(MAX_BLOB_BYTES);
        const found = await view.read(versionHash, keccak, signal);
        switch (found.kind) {
          case 'found': {
            const headers = {
              'content-type': 'application/octet-stream',
              'cache-control': IMMUTABLE,
              etag: `"${keccak}"`,
            };
            return { status: 200, headers, body: bodyOf(found.bytes) };
          }
          case 'absent':
            return problemAnswer('custom/absent', `No bytes with keccak256 ${keccak} were kept for ${versionHash}.`);
          case 'withheld':
            return withheldAnswer(versionHash, found.publicReason);
          case 'unavailable':
            return problemAnswer('blob/store-fault', found.message);
          default:
            return found satisfies never;
        }
      },
    }),
  ];
}
