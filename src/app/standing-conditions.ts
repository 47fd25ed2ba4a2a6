import type { ChainFollowing } from '../chain/chain-following.ts';
import type { Condition } from '../core/conditions/condition.ts';
import { type ConditionBoard, notAskedYet } from '../core/conditions/condition-board.ts';
import { mostSevereFirst, severityOf } from '../core/conditions/condition-severity.ts';

/** What is wrong now. Before the node first answered, that is said too; then, that the walk is behind. */
export function standingConditions(
  board: ConditionBoard,
  chain: Pick<ChainFollowing, 'behindCondition'>,
  hasSwept: boolean,
  nowMs: number,
): readonly Condition[] {
  const raised = board.all();
  const since = new Date(nowMs).toISOString();
  if (board.has('node')) return raised;
  if (!hasSwept) return mostSevereFirst([...raised, notAskedYet(since)]);
  const behind = chain.behindCondition(since);
  return behind === null ? raised : mostSevereFirst([...raised, { ...behind, severity: severityOf(behind) }]);
}
