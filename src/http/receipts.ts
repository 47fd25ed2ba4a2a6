import { z } from 'zod';
import { HASH_TYPES } from '../core/blob/ids.ts';
import type { ReceiptView } from '../view/receipt-view.ts';
import { jsonAnswer } from './answer.ts';
import { SIGNATURE, SUCCESSIONS } from './attestation.ts';
import { cannotTellAnswer, missingAnswer } from './blob-lookup.ts';
import { LOOKUP_PROBLEMS } from './blobs.ts';
import { HASH_TEXT, NAMED_HASH, NOTHING } from './parameters.ts';
import { defineRoute, type Route } from './route.ts';

export const RECEIPT_PATH = '/v1/receipts/:versionHash';

const RECEIPT = z.object({
  statement: z.object({
    kind: z.literal('holdfast/receipt'),
    format: z.literal(1),
    archiver: z.string(),
    key: HASH_TEXT,
    chain: HASH_TEXT,
    hashType: z.enum(HASH_TYPES),
    versionHash: HASH_TEXT,
    sizeBytes: z.int(),
    state: z.literal('stored-and-final'),
    txid: HASH_TEXT,
    vout: z.int(),
    height: z.int(),
    blockHash: HASH_TEXT,
    at: z.string(),
  }),
  signature: SIGNATURE,
  keys: SUCCESSIONS,
});

/** A signed receipt of one blob. Not below `/v1/blobs/`: a reader without a catalog answers there, and it signs nothing. */
export function receiptRoutes(view: ReceiptView): Route[] {
  return [
    defineRoute({
      path: RECEIPT_PATH,
      says: 'A signed receipt: this archive holds the blob, read back from as many backends as it requires, and an occurrence of it is final.',
      answers: [{ mediaType: 'application/json', schema: RECEIPT }],
      problems: [...LOOKUP_PROBLEMS, 'blob/lost', 'chain/not-placed', 'chain/not-final'],
      parameters: NAMED_HASH,
      query: NOTHING,
      async answer({ parameters: { versionHash: name }, signal }) {
        const lookup = await view.receipt(name, signal);
        if (lookup.kind === 'found') return jsonAnswer(lookup.receipt);
        return lookup.kind === 'not-yet' ? cannotTellAnswer(lookup.why) : missingAnswer(lookup, name.versionHash);
      },
    }),
  ];
}
