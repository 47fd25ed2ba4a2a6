import { element } from './element.ts';
import { dateAndClock } from './model/words.ts';

/** A time in the browser's zone, with UTC while the pointer is over it. */
export function moment(isoOrMs: string | number): HTMLElement | string {
  const date = new Date(isoOrMs);
  if (Number.isNaN(date.getTime())) return String(isoOrMs);
  const iso = date.toISOString();
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return element('time', { datetime: iso, title: utc }, dateAndClock(isoOrMs));
}
