/** A blob, as `copy` numbers the kinds; its object is the sequence of its content. */
export const BLOB = 5;

/** 0 wanted, 1 good, 2 damaged: as the column spells them. */
const PLACEMENT_STATES = ['wanted', 'good', 'damaged'] as const;
export type PlacementState = (typeof PLACEMENT_STATES)[number];

export function codeOf(state: PlacementState): 0 | 1 | 2 {
  return state === 'wanted' ? 0 : state === 'good' ? 1 : 2;
}

export function stateOf(code: number): PlacementState {
  return PLACEMENT_STATES[code] ?? 'wanted';
}
