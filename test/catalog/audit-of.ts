import type { Catalog } from '../../src/catalog/catalog.ts';
import { auditChain } from '../../src/chain/audit.ts';

/** Audits heights 0 to 1,000. */
export async function auditOf(catalog: Catalog) {
  const about = { finalHeight: null, nodeTip: null };
  return await auditChain(catalog, { from: 0, to: 1_000 }, about, new AbortController().signal);
}
