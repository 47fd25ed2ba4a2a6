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

/** The same connection, whose statements are planned once: when they are prepared. */
export function planningOnce(database: Database.Database): Database.Database {
  const prepare = database.prepare.bind(database);
  return Object.assign(database, { prepare: (sql: string) => prepare(plannedOnce(sql)) });
}
