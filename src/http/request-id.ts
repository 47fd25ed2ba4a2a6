import { randomUUID } from 'node:crypto';

const SAFE = /^[A-Za-z0-9._-]{1,64}$/;

/** A client's own id only when it can stand in any log and header as it is; otherwise a new one. */
export function requestIdFrom(given: string | string[] | undefined): string {
  return typeof given === 'string' && SAFE.test(given) ? given : randomUUID();
}
