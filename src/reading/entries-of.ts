import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { NamedHash } from '../core/blob/ids.ts';

/** The rows that this name can mean. */
export function entriesOf(catalog: Pick<Catalog, 'find'>, { versionHash, hashType }: NamedHash): ContentEntry[] {
  return catalog.find(versionHash).filter((entry) => hashType === null || entry.hashType === hashType);
}
