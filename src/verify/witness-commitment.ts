import type { Block } from './block.ts';
import { doubleSha256 } from './double-sha256.ts';
import { VerifyError } from './errors.ts';
import { sameBytes } from './hash-bytes.ts';
import { buildMerkleTree } from './merkle-tree.ts';
import type { Transaction } from './transaction.ts';

/** OP_RETURN, a push of 36 bytes, and the mark of the commitment (BIP 141). */
const MARK = Uint8Array.of(0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed);
const DIGEST_BYTES = 32;

/**
 * Checks the witnesses of a block. A header's Merkle root covers transactions without them; a commitment in the
 * coinbase (BIP 141), which the root covers, names them. Without this check an attacker between the archive and a node
 * could change witnesses, and two archivers would write different records of one transaction.
 * @throws VerifyError `verify/witness-commitment`
 */
export function checkWitnesses(block: Block): void {
  const [coinbase, ...others] = block.transactions;
  const { hash } = block.header;
  const committed = coinbase === undefined ? null : commitmentIn(coinbase);
  const [reserved] = coinbase?.firstWitness() ?? [];
  if (committed === null || reserved?.length !== DIGEST_BYTES) {
    throw refusal(`Block ${hash} has witnesses, and its coinbase commits to none.`, hash);
  }
  const leaves = [new Uint8Array(DIGEST_BYTES), ...others.map(({ witnessHash }) => witnessHash)];
  if (sameBytes(doubleSha256(buildMerkleTree(leaves).root, reserved), committed)) return;
  throw refusal(`The witnesses of block ${hash} are not those that its coinbase commits to.`, hash);
}

/** The last of several commitments counts. */
function commitmentIn(coinbase: Transaction): Uint8Array | null {
  const end = MARK.length + DIGEST_BYTES;
  const found = coinbase
    .outputs()
    .findLast(({ script }) => script.length >= end && sameBytes(script.subarray(0, MARK.length), MARK));
  return found === undefined ? null : found.script.subarray(MARK.length, end);
}

function refusal(message: string, blockHash: string): VerifyError {
  return new VerifyError('verify/witness-commitment', message, { details: { blockHash } });
}
