export { createNodeHasher, type HasherCandidates, type HasherWarning, type NodeHasher } from './node-hasher.ts';
