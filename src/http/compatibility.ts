import type { ArchiveView } from '../archive/archive-view.ts';
import { encodeHexInto } from '../blob/hex.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import { type Answer, type AnswerBody, bodyOf, IMMUTABLE } from './answer.ts';
import { missingAnswer, readBlob } from './blob-lookup.ts';
import { prefersRawBytes } from './media-preference.ts';
import { BARE_HASH, FORMAT_QUERY } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { defineRoute, type Route } from './route.ts';

/**
 * The contracts of clients that exist. One of them ignores the status and takes the body for hex; an empty body makes it
 * drop the batch for ever. So no GET here is ever answered without a body: no 304, no parts, and errors are JSON, which
 * is not hex.
 */
export function compatibilityRoutes(view: ArchiveView): Route[] {
  return [
    defineRoute({
      path: '/vh/:versionHash',
      parameters: BARE_HASH,
      query: FORMAT_QUERY,
      async answer(request) {
        const { versionHash } = request.parameters;
        const lookup = await readBlob(view, { versionHash, hashType: null }, request.signal);
        if (lookup.kind !== 'found') return missingAnswer(lookup, versionHash);
        const { format } = request.query;
        return blobAnswer(
          lookup.blob,
          format === undefined ? prefersRawBytes(request.header('accept')) : format === 'raw',
        );
      },
    }),
  ];
}

function blobAnswer({ bytes }: VerifiedBlob, raw: boolean): Answer {
  // No node takes a blob without bytes. Should one ever be there, it is no answer that these clients survive.
  if (bytes.length === 0) return problemAnswer('blob/cannot-tell', 'The blob is empty; this route cannot carry it.');
  return {
    status: 200,
    headers: {
      'content-type': raw ? 'application/octet-stream' : 'text/plain',
      'cache-control': IMMUTABLE,
      vary: 'accept',
    },
    body: raw ? bodyOf(bytes) : hexBody(bytes),
  };
}

/** Straight into the memory that goes to the socket: by way of a string it would be there twice. */
function hexBody(bytes: Uint8Array): AnswerBody {
  const lengthBytes = bytes.length * 2;
  return {
    lengthBytes,
    make() {
      const text = Buffer.allocUnsafe(lengthBytes);
      encodeHexInto(bytes, text);
      return text;
    },
  };
}
