import { describeWhere } from '../promised.ts';
import { answers } from './command.ts';
import { serverMeans } from './server-means.ts';

/** A suite that needs a real server. */
export const describeWithServers = describeWhere(serverMeans() !== null, 'neither a Docker engine nor Go is here');

/** The same for what is built from its Go module only, because it is a program and no server: Helm. */
export const describeWithGo = describeWhere(answers('go', ['version']), 'Go is not here');

/** Building Kubo from cold takes minutes on two cores. */
export const SERVER_START_MS = 1_200_000;
