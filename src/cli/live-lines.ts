import { createLogUpdate } from 'log-update';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import { type CliContext, disarmed, print } from './cli-context.ts';

/** Progress of a long command: lines that stay, and below them one live line. */
export interface LiveLines {
  line(text: string): void;
  state(text: string): void;
  stop(): void;
}

/** Milliseconds between two progress lines when the output is not a terminal. */
const LINE_MS = 5_000;

/** On a terminal the state is one line that changes; elsewhere it is a plain line now and then. */
export function liveLines(context: CliContext): LiveLines {
  const live = context.stdout.isTTY === true ? createLogUpdate(context.stdout) : null;
  let linedMs = Number.NEGATIVE_INFINITY;
  return {
    line(text) {
      live?.clear();
      print(context, text);
    },
    state(text) {
      if (live !== null) live(disarmed(text));
      else if (SYSTEM_CLOCK.steadyMs() - linedMs >= LINE_MS) {
        print(context, text);
        linedMs = SYSTEM_CLOCK.steadyMs();
      }
    },
    stop() {
      live?.clear();
      // Shows the cursor again.
      live?.done();
    },
  };
}
