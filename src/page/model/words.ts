import type { MarkState } from './window.ts';

/** The states that the legend and the table name, in their order. */
export const SHOWN_STATES = [
  'final',
  'stored',
  'spooled',
  'seen',
  'at-risk',
  'lost',
  'withheld',
  'custom',
  'not-archived-by-rule',
] as const satisfies readonly MarkState[];

/** Names of the states. The type has every state of the legend: code that names a state which is missing there does not compile. */
export const STATE_WORDS: Readonly<Record<(typeof SHOWN_STATES)[number] | 'unknown', string>> = {
  final: 'stored, final',
  stored: 'stored',
  spooled: 'spooled',
  seen: 'not here yet',
  'at-risk': 'at risk',
  lost: 'lost',
  withheld: 'withheld',
  custom: 'custom, unverified',
  'not-archived-by-rule': 'not archived by rule',
  unknown: 'unknown',
};

const number = new Intl.NumberFormat('en');
const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function count(value: number): string {
  return number.format(value);
}

/** A number with its noun: `1 blob`, `2 blobs`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function rate(value: number): string {
  return (value < 1 ? twoDigits : oneDigit).format(value);
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export function bytes(value: number): string {
  let unit = 0;
  let amount = value;
  while (amount >= 1_024 && unit < UNITS.length - 1) {
    amount /= 1_024;
    unit += 1;
  }
  return unit === 0 ? counted(value, 'byte') : `${oneDigit.format(amount)} ${UNITS[unit]}`;
}

/** A duration: `5 h 12 min`, `3 min`, `20 s`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** The first and last characters, enough for a person to tell two hashes apart. */
export function shortHash(hash: string): string {
  return hash.length <= 20 ? hash : `${hash.slice(0, 10)}…${hash.slice(-6)}`;
}

/** A time of day in the browser's time zone. */
export function clock(isoOrMs: string | number): string {
  const moment = new Date(isoOrMs);
  return Number.isNaN(moment.getTime()) ? String(isoOrMs) : moment.toLocaleTimeString('en-GB');
}

export function dateAndClock(isoOrMs: string | number): string {
  const moment = new Date(isoOrMs);
  return Number.isNaN(moment.getTime())
    ? String(isoOrMs)
    : `${moment.toLocaleDateString('en-CA')} ${moment.toLocaleTimeString('en-GB')}`;
}
