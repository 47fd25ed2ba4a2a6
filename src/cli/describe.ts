const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `1.5 MiB`. */
export function describeBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}

/** `5 h 12 min`. */
export function describeSeconds(seconds: number): string {
  const sign = seconds < 0 ? '-' : '';
  const whole = Math.abs(Math.round(seconds));
  if (whole < 120) return `${sign}${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 120 ? `${sign}${minutes} min` : `${sign}${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `1 blob is`, `1,239 blobs are`. */
export function describeCount(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`;
}
