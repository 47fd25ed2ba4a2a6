/** One measured number. `least` and `most` are what the project promises. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly least?: number;
  readonly most?: number;
}

export function holds({ value, least, most }: Figure): boolean {
  return (least === undefined || value >= least) && (most === undefined || value <= most);
}

export function describe(figure: Figure): string {
  const { name, value, unit, least, most } = figure;
  const limit = least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : null;
  const promise = limit === null ? '' : ` (${limit}: ${holds(figure) ? 'kept' : 'NOT KEPT'})`;
  const shown = value >= 1_000 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 100 ? 0 : 2);
  return `${holds(figure) ? ' ' : '!'} ${name.padEnd(60)} ${shown.padStart(10)} ${unit}${promise}`;
}
