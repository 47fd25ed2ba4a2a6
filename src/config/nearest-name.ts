/** Largest edit distance, as a fraction of the longer name, at which a suggestion is still useful. */
const MAX_DIFFERENCE = 1 / 3;

/** The known name with the smallest edit distance, ignoring case and separators. null when none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const own = letters(name);
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(own, letters(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  if (best === undefined) return null;
  return best.distance <= Math.max(own.length, letters(best.candidate).length) * MAX_DIFFERENCE ? best.candidate : null;
}

function letters(name: string): string {
  return name
    .toLowerCase()
    .replace(/^holdfast_/, '')
    .replaceAll(/[^a-z0-9]/g, '');
}

/** Levenshtein distance: the number of letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...a].entries()) {
    const row = [index + 1];
    for (const [column, other] of [...b].entries()) {
      const replaced = (above[column] ?? 0) + (letter === other ? 0 : 1);
      row.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (row[column] ?? 0) + 1));
    }
    above = row;
  }
  return above[b.length] ?? 0;
}
