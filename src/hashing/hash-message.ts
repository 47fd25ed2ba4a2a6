import { z } from 'zod';

/** Bytes that own their whole `ArrayBuffer`, so that a transfer moves them without a copy. */
const ownedBytes = z.custom<Uint8Array<ArrayBuffer>>(
  (value) => value instanceof Uint8Array && value.buffer instanceof ArrayBuffer,
);

/** The worker thread's answer to one request. */
export const hashReply = z.object({ id: z.number(), digest: z.instanceof(Uint8Array), bytes: ownedBytes });
