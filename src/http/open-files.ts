import { readFileSync } from 'node:fs';

/** The share of the handles that a process may have: a reader can hold its connection and a file; the rest is for the archive itself. */
const SHARE = 1 / 3;

/** Connections that leave enough handles for everything else, whatever `ulimit -n` is here. */
export function connectionsWithin(wanted: number, openFiles = openFilesHere()): number {
  return Math.max(1, Math.min(wanted, Math.floor(openFiles * SHARE)));
}

/** Node has raised it as far as it may. Where the system does not say, it has no such limit that is worth a thought. */
function openFilesHere(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
