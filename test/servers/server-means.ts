import { answers } from './command.ts';

/** The way in which real servers run here: as containers where a Docker engine answers, else built from the pinned Go module. */
export type ServerMeans = 'docker' | 'go';

let found: ServerMeans | null | undefined;

export function serverMeans(): ServerMeans | null {
  found ??= answers('docker', ['info']) ? 'docker' : answers('go', ['version']) ? 'go' : null;
  return found;
}

export function refuseToStart(): never {
  throw new Error('Neither a Docker engine nor Go is here to run real servers.');
}
