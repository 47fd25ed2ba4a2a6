import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Time of the worker and of its ended children while this file ran; absent where the system does not say. */
    processorMs?: number;
  }
}

/** Linux counts it in hundredths of a second, whatever the machine. */
const TICK_MS = 10;

/** utime, stime, cutime and cstime of this process: proc_pid_stat(5). The name before them may have spaces. */
function processorMs(): number | null {
  if (process.platform !== 'linux') return null;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const [, , , , , , , , , , , utime, stime, cutime, cstime] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(utime) + Number(stime) + Number(cutime) + Number(cstime)) * TICK_MS;
}

const before = processorMs();

// Registered before what the file itself registers, it runs last: servers of the file have ended by then.
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from it which fixtures are wanted.
afterAll(({}, file) => {
  const after = processorMs();
  if (before !== null && after !== null) file.meta.processorMs = after - before;
});
