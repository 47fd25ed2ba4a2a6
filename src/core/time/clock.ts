/** The two clocks of a process. What is shown or kept goes by the wall; how long something took or rests never does. */
export interface Clock {
  /** Milliseconds since 1970. An operator or a time server may set this clock, also back. */
  readonly wallMs: () => number;
  /** Milliseconds since some moment, by a clock that never steps. */
  readonly steadyMs: () => number;
}

export const SYSTEM_CLOCK: Clock = { wallMs: () => Date.now(), steadyMs: () => performance.now() };
