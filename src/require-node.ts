import { HoldfastError } from './core/blob/errors.ts';

/** The oldest Node that `engines` of the package allows; npm only warns of an older one. */
const OLDEST_NODE_MAJOR = 24;

// An older Node fails in the midst of a dependency, with a bare TypeError: an entry imports this file before anything else.
if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE_MAJOR) {
  throw new HoldfastError(
    'runtime/too-old',
    `This is Node ${process.versions.node}, and holdfast needs Node ${OLDEST_NODE_MAJOR} or newer.`,
    {
      details: { found: process.versions.node, oldestMajor: OLDEST_NODE_MAJOR },
      retryable: false,
      hint: 'Install a newer Node (https://nodejs.org).',
    },
  );
}
