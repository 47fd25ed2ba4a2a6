import type { Catalog } from '../catalog/catalog.ts';
import { HASH_TYPES, type NamedHash } from '../core/blob/ids.ts';
import type { Lost, RecordedAbsence } from '../view/archive-view.ts';

/** null: it is not recorded as lost, or a later occurrence has a deadline of its own, and the bytes can still come. */
export function recordedLoss(
  { losses, chain }: Pick<Catalog, 'losses' | 'chain'>,
  { versionHash, hashType }: NamedHash,
): RecordedAbsence | null {
  for (const type of hashType === null ? HASH_TYPES : [hashType]) {
    const content = { hashType: type, versionHash };
    const loss = losses.find(content);
    const newest = loss === null ? null : chain.lastHeight(content);
    if (loss === null || (newest !== null && newest > loss.upToHeight)) continue;
    const sources = [...new Set(loss.answers.map(({ source }) => source))];
    return { recordedAt: new Date(loss.recordedMs).toISOString(), sources };
  }
  return null;
}

/** null: it is not recorded as lost. */
export function lostIn(catalog: Pick<Catalog, 'losses' | 'chain'>, name: NamedHash): Lost | null {
  const loss = recordedLoss(catalog, name);
  return loss === null ? null : { kind: 'lost', loss };
}
