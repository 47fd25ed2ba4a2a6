import { createLogUpdate } from 'log-update';
import { messageOf } from '../core/blob/errors.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import { type CliContext, disarmed, print } from './cli-context.ts';

const REDRAW_MS = 2_000;

/**
 * Refreshes the lines until the context's signal aborts: in place on a terminal, else one after the other. A failed
 * look is shown in their place, and tried again. The last screen stays, with the cursor below it.
 */
export async function watchScreen(look: () => Promise<readonly string[]>, context: CliContext): Promise<void> {
  const live = context.stdout.isTTY === true ? createLogUpdate(context.stdout) : null;
  const show = (lines: readonly string[]) => {
    if (live === null) print(context, `${lines.join('\n')}\n`);
    else live(disarmed(lines.join('\n')));
  };
  const step = async (): Promise<Next> => {
    show(await look());
    return REDRAW_MS;
  };
  const tell = (error: unknown) => {
    if (error !== null) show([messageOf(error), '  It is asked again; Ctrl-C ends this.']);
  };
  try {
    await runLoop('task:watch', step, { signal: context.signal, backoff: BACKOFF.local, tell });
  } finally {
    // Shows the cursor again.
    live?.done();
  }
}
