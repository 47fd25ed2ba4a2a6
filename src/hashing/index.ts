export { HashThread, type HashThreadOptions } from './hash-thread.ts';
export { createNodeHasher, type HasherCandidates, type HasherWarning, type NodeHasher } from './node-hasher.ts';
