import { isIP } from 'node:net';
import { text } from './setting.ts';

const NAMES = new Set(['loopback', 'linklocal', 'uniquelocal']);

/**
 * A number of hops, or the addresses of the proxies. "all" is refused: any client could then invent an address per
 * request and escape its rate limit.
 */
export const trustedProxies = text.refine((value) => {
  if (/^[1-9]\d?$/.test(value)) return true;
  return value.split(/[\s,]+/).every(isProxy);
}, 'must be a number of proxies, or their addresses or networks: 10.0.0.0/8, ::1, loopback, uniquelocal');

function isProxy(item: string): boolean {
  if (NAMES.has(item)) return true;
  const [address = '', bits, ...more] = item.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128) && Number(bits) > 0)
  );
}
