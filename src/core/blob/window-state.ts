/**
 * The states of a blob of the window. `at-risk`: on chain, not durable here, and past the alarm's share of its window. `lost`:
 * no source had the bytes when their deadline passed. `withheld`: taken down by an operator, and not fetched. `custom`: the
 * bytes of every node match neither hash; they are kept apart and prove nothing. `not-archived-by-rule`: the operator's rule
 * leaves it out.
 */
export const WINDOW_STATES = [
  'seen',
  'at-risk',
  'spooled',
  'stored',
  'lost',
  'withheld',
  'custom',
  'not-archived-by-rule',
] as const;
export type WindowState = (typeof WINDOW_STATES)[number];
