import type { Catalog } from '../catalog/catalog.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import type { LeftOut } from '../view/archive-view.ts';

/** null: no rule of the operator leaves it out. */
export function leftOutIn({ leftOut }: Pick<Catalog, 'leftOut'>, { versionHash }: NamedHash): LeftOut | null {
  const found = leftOut.find(versionHash);
  if (found === null) return null;
  return { kind: 'not-archived-by-rule', since: new Date(found.sinceMs).toISOString(), rule: found.rule };
}
