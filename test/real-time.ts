const steadyMs = performance.now.bind(performance);

/** Milliseconds of the machine's steady clock, also in a test whose clocks hurry. */
export const realMs = (): number => steadyMs();

/** `setTimeout` by the machine's clock, also in a test whose clocks hurry. */
export const realTimeout = setTimeout;
