import { ArchiveError } from '../core/archive-errors.ts';

type Order = 'oldest' | 'newest';

/** Opaque to clients: the order it goes on in, and the last entry that was shown. */
export function encodeCursor(sequence: number, order: Order): string {
  return Buffer.from(`${order}:${sequence}`).toString('base64url');
}

export function decodeCursor(cursor: string, order: Order): number {
  const match = /^(oldest|newest):(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (match === null || match[1] !== order) {
    throw new ArchiveError(
      'archive/bad-cursor',
      `The cursor does not belong to a listing of this archive in ${order} order.`,
      {
        retryable: false,
        hint: 'Use the `next` of the page before, with the same order, or leave `after` out to begin.',
      },
    );
  }
  return Number(match[2]);
}
