import { type NamedHash, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import type { ReceiptLookup, ReceiptView } from '../../src/view/receipt-view.ts';

const HASH = 'cd'.repeat(32);
const SIGNATURE = 'ef'.repeat(64);

/** One for every blob, unless a test says what else is answered. */
export class FakeReceipts implements ReceiptView {
  answers: ReceiptLookup | null = null;
  readonly asked: NamedHash[] = [];

  async receipt(name: NamedHash): Promise<ReceiptLookup> {
    this.asked.push(name);
    if (this.answers !== null) return this.answers;
    const { versionHash } = name;
    const at = '2026-11-01T02:11:00.000Z';
    const statement = {
      ...({ kind: 'holdfast/receipt', format: 1, archiver: 'ab'.repeat(8), key: HASH } as const),
      ...({ hashType: 'keccak256', versionHash, sizeBytes: 9, state: 'stored-and-final', vout: 1, at } as const),
      ...{ chain: parseBlockHash(HASH), txid: parseTxId(HASH), height: 3, blockHash: parseBlockHash(HASH) },
    };
    return { kind: 'found', receipt: { statement, signature: SIGNATURE, keys: [] } };
  }
}
