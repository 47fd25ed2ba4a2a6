import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { NodeGroup } from './node-group.ts';

/** Blocks that a node may be behind another one: they do not hear of a block in the same second. */
const MOST_BEHIND = 2;
/**
 * For so long, four blocks of the real chain. Who lies about blocks ahead of all others is found out by the next one that
 * they hear of; who has lost all its peers hears of none.
 */
const PATIENCE_MS = 600_000;

/** A node that stands still answers, and has nothing new: where another one of them goes on, that is followed. */
export class LagWatch {
  readonly #nodes: Pick<NodeGroup, 'askLast'>;
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;
  /** Since when a node is behind, by its name. */
  readonly #sinceMs = new Map<string, number>();

  constructor(nodes: Pick<NodeGroup, 'askLast'>, conditions: ConditionBoard, clock: Clock) {
    this.#nodes = nodes;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  /** Heights of those who answered and follow our branch, by name: those of others stay as they were. */
  note(heights: ReadonlyMap<string, number>): void {
    const nowMs = this.#clock.steadyMs();
    const best = Math.max(...heights.values());
    for (const [name, height] of heights) {
      if (height >= best - MOST_BEHIND) this.#sinceMs.delete(name);
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
