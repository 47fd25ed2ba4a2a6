import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/** Tells of a node that does not take several calls in one request; `refusal` null: it does, again. */
export function tellsBatches(conditions: ConditionBoard): (node: string, refusal: Error | null) => void {
  return (node, refusal) => {
    const raised = refusal === null ? null : refusedBy(node, refusal);
    conditions.set(`batches:${node}`, raised);
  };
}

function refusedBy(node: string, refusal: Error) {
  return {
    code: 'node/refuses-batches',
    message: `The node ${node} does not take several calls in one request, so that each is made alone: ${messageOf(refusal)}`,
    hint: 'All goes on, only slower. Let lists of calls (JSON-RPC batches) through whatever stands before the node; they are tried again each hour.',
    blocksReadiness: false,
  };
}
