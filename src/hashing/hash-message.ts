import { z } from 'zod';

/** Bytes that own all of their memory: what a thread can hand over without copying. */
const ownedBytes = z.custom<Uint8Array<ArrayBuffer>>(
  (value) => value instanceof Uint8Array && value.buffer instanceof ArrayBuffer,
);

/** What the thread sends. */
export const hashReply = z.union([
  z.literal('ready'),
  z.object({ id: z.number(), digest: z.instanceof(Uint8Array), bytes: ownedBytes }),
]);
