import type { Unavailable, UnavailableReason } from '../view/archive-view.ts';

export function unavailable(reason: UnavailableReason, message: string, retryAfterSeconds: number): Unavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
