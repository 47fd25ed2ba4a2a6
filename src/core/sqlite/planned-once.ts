import type Database from 'better-sqlite3';

/** A string, which stays as it is, or the first character of a parameter. */
const STRING_OR_PARAMETER = /'(?:[^']|'')*'|[?@]/g;

/**
 * Hides the values of parameters from the query planner. It looks at those that it compares or that limit a result. A
 * statement that it looked at is parsed and planned again at each run, which takes longer than most of them run. The catalog
 * has no statistics: the plan is the same either way.
 */
export function plannedOnce(sql: string): string {
  // An expression without an effect is opaque to the planner, and has the value and the type of the parameter.
  return sql.replace(STRING_OR_PARAMETER, (found) => (found.startsWith("'") ? found : `+${found}`));
}

/**
 * The same connection, whose statements are planned once: at their first run. A catalog has hundreds, and planning them
 * all takes two thirds of the time to open it.
 */
export function planningOnce(database: Database.Database): Database.Database {
  const prepare = database.prepare.bind(database);
  // No file here calls another method: one that is missing would fail at the first call.
  return Object.assign(database, { prepare: (sql: string) => new LateStatement(() => prepare(plannedOnce(sql))) });
}

type Used = Pick<Database.Statement, 'source' | 'run' | 'get' | 'all' | 'iterate'>;

class LateStatement implements Used {
  readonly #prepare: () => Database.Statement;
  #prepared: Database.Statement | null = null;
  #rowsAs: 'objects' | 'pluck' | 'raw' = 'objects';

  constructor(prepare: () => Database.Statement) {
    this.#prepare = prepare;
  }

  get source(): string {
    return this.#statement().source;
  }

  pluck(): this {
    return this.#givingRowsAs('pluck');
  }

  raw(): this {
    return this.#givingRowsAs('raw');
  }

  run(...values: unknown[]): Database.RunResult {
    return this.#statement().run(...values);
  }

  get(...values: unknown[]): unknown {
    return this.#statement().get(...values);
  }

  all(...values: unknown[]): unknown[] {
    return this.#statement().all(...values);
  }

  iterate(...values: unknown[]): IterableIterator<unknown> {
    return this.#statement().iterate(...values);
  }

  #givingRowsAs(how: 'pluck' | 'raw'): this {
    this.#rowsAs = how;
    if (this.#prepared !== null) this.#prepared[how]();
    return this;
  }

  #statement(): Database.Statement {
    if (this.#prepared === null) {
      const prepared = this.#prepare();
      this.#prepared = this.#rowsAs === 'objects' ? prepared : prepared[this.#rowsAs]();
    }
    return this.#prepared;
  }
}
