import type { HashType, NamedHash } from '../src/core/blob/ids.ts';
import { wholeOf } from '../src/http/given-body.ts';
import { type NotGiven, type Reader, ROOM_IS_MADE } from '../src/view/archive-view.ts';

export interface FoundBlob {
  readonly kind: 'found';
  readonly blob: { readonly hashType: HashType; readonly bytes: Uint8Array };
}

/** Reads all that a reader gives into memory, or tells why it gives nothing. */
export async function readWhole(
  { reader }: { readonly reader: Reader },
  name: NamedHash,
  signal: AbortSignal,
): Promise<FoundBlob | NotGiven> {
  const given = await reader.open(name, { ...ROOM_IS_MADE, signal });
  if (given.kind !== 'memory' && given.kind !== 'file') return given;
  if (given.kind === 'memory') return { kind: 'found', blob: given.blob };
  const { file } = given;
  return { kind: 'found', blob: { hashType: file.hashType, bytes: await wholeOf(file, async () => undefined) } };
}
