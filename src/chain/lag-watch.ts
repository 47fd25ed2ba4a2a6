import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { NodeGroup } from './node-group.ts';

/** Blocks that a node may be behind another one: nodes receive a block at different times. */
const MAX_BEHIND = 2;
/**
 * Patience in milliseconds, four blocks of the real chain. A node with invented blocks ahead is exposed by the next
 * real block; a node without peers receives none.
 */
const PATIENCE_MS = 600_000;

/** Detects a node that answers but receives no new blocks while another node goes on, which is then preferred. */
export class LagWatch {
  readonly #nodes: Pick<NodeGroup, 'askLast'>;
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;
  /** Time since when each node is behind, by name. */
  readonly #sinceMs = new Map<string, number>();

  constructor(nodes: Pick<NodeGroup, 'askLast'>, conditions: ConditionBoard, clock: Clock) {
    this.#nodes = nodes;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  /** Notes the heights of the nodes that answered on the followed branch. Other nodes keep their state. */
  note(heights: ReadonlyMap<string, number>): void {
    const nowMs = this.#clock.steadyMs();
    const best = Math.max(...heights.values());
    for (const [name, height] of heights) {
      if (height >= best - MAX_BEHIND) this.#sinceMs.delete(name);
      else if (!this.#sinceMs.has(name)) this.#sinceMs.set(name, nowMs);
    }
    const late = [...this.#sinceMs].filter(([, sinceMs]) => nowMs - sinceMs >= PATIENCE_MS).map(([name]) => name);
    this.#nodes.askLast(new Set(late));
    this.#tell(late, heights, best);
  }

  #tell(late: readonly string[], heights: ReadonlyMap<string, number>, best: number): void {
    const said = late.map((name) => `${name} (at height ${heights.get(name) ?? 'unknown'})`);
    this.#conditions.set(
      'chain:lag',
      said.length === 0
        ? null
        : {
            code: 'chain/node-lags',
            message: `${said.join(', ')} stands still, while another node of the same branch is at height ${best}: that one is asked first.`,
            hint: 'Look at its peers, its disk and its log. It is followed again when it has caught up.',
            blocksReadiness: false,
          },
    );
  }
}
