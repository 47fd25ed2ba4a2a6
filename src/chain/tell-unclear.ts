import type { WalkedBlock } from '../catalog/walked-block.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/**
 * Reports transactions of version 137 with unclear content, which no recording has. The output that the node takes
 * among several is an ordinary occurrence.
 */
export function tellUnclear({ height, unclear, occurrences }: WalkedBlock, conditions: ConditionBoard): void {
  for (const { txid, candidates, transactionIndex } of unclear) {
    const what =
      candidates === 0 ? 'names no content' : `has ${candidates} outputs that name content, or one out of place`;
    const taken = occurrences.find((one) => one.transactionIndex === transactionIndex);
    const outcome = taken === undefined ? 'none is' : `output ${taken.vout}, which nodes check, alone is`;
    conditions.note(
      'chain:unclear',
      `transaction ${txid} in block ${height} is of version 137 and ${what}: it is counted, ${outcome} archived, and nothing else of the block waits for it`,
    );
  }
}
