import { readFileSync } from 'node:fs';

/** Processor time of this process and its threads. */
export function cpuSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6;
}

/** Linux counts in hundredths of a second, whatever its kernel does. */
const TICKS_A_SECOND = 100;

/** Processor time of another process, in seconds; NaN where no `/proc` says it, or there is no such process here (in a container). */
export function cpuSecondsOf(pid: number | null): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold anything: what follows it is the third field on.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
  } catch {
    return Number.NaN;
  }
}
