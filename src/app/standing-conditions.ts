import type { ChainFollowing } from '../chain/chain-following.ts';
import { type ConditionBoard, notAskedYet, type Standing } from '../core/conditions/condition-board.ts';
import { bySeverity, severityOf } from '../core/conditions/condition-severity.ts';

/** Conditions that hold now. They include a node that has never answered; then, a walk that is behind. */
export function standingConditions(
  board: ConditionBoard,
  chain: Pick<ChainFollowing, 'behindCondition'>,
  hasSwept: boolean,
  nowMs: number,
): readonly Standing[] {
  const raised = board.standing();
  const since = new Date(nowMs).toISOString();
  if (board.has('node')) return raised;
  if (!hasSwept) return bySeverity([...raised, notAskedYet(since)]);
  const behind = chain.behindCondition(since);
  if (behind === null) return raised;
  return bySeverity([...raised, { ...behind, subject: 'chain:behind', severity: severityOf(behind) }]);
}
