import { type LevelWithSilent, pino } from 'pino';

/** Level of a logger and of all its children. It can change while they write. */
export class LevelSwitch {
  #level: LevelWithSilent;
  #least: number;

  constructor(level: LevelWithSilent) {
    this.#level = level;
    this.#least = rankOf(level);
  }

  get level(): LevelWithSilent {
    return this.#level;
  }

  set(level: LevelWithSilent): void {
    this.#level = level;
    this.#least = rankOf(level);
  }

  /** `value`: of the line, as pino numbers levels. */
  admits(value: number): boolean {
    return value >= this.#least;
  }
}

function rankOf(level: LevelWithSilent): number {
  return level === 'silent' ? Number.POSITIVE_INFINITY : (pino.levels.values[level] ?? 0);
}
