import type { NamedHash } from '../blob/ids.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import { verifyOccurrence } from '../verify/verify-occurrence.ts';

const NO_BYTES = new Uint8Array();

/** null: one of them is no record, speaks of another blob, or does not prove what it says. */
export function checkedProofs(
  values: readonly unknown[],
  name: NamedHash,
  bytes: Uint8Array | null,
  hasher: BlobHasher,
): readonly OccurrenceRecord[] | null {
  try {
    const records = values.map(decodeOccurrenceRecord);
    const isGood = records.every(
      (record) =>
        record.versionHash === name.versionHash &&
        (name.hashType === null || record.hashType === name.hashType) &&
        verifyOccurrence(bytes ?? NO_BYTES, record, { hasher }).steps.every(
          ({ step, ok }) => ok || (step === 'bytes' && bytes === null),
        ),
    );
    return isGood && records.length > 0 ? records : null;
  } catch (error) {
    if (error instanceof VerifyError) return null;
    throw error;
  }
}
