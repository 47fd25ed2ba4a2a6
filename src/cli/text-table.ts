import { markdownTable } from 'markdown-table';

/** Heads by their columns; a head that begins with `>` aligns its column to the right, as numbers are read. */
export type Heads = readonly string[];

/** A heading, a rule and a line for each row; none without rows. Bars part the columns, so that `cut -d'|'` takes them apart. */
export function textTable(heads: Heads, rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const align = heads.map((head) => (head.startsWith('>') ? 'r' : null));
  const table = markdownTable([heads.map((head) => head.replace(/^>/, '')), ...rows], {
    align,
    delimiterStart: false,
    delimiterEnd: false,
  });
  return table.split('\n');
}
