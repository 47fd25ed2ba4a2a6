import type { Devnode } from '../../src/devnode/index.ts';

export interface CountedGets {
  /** Blobs that the node was asked for since the counting began, each call of a batch for itself. */
  readonly count: number;
}

/** Counts at the node itself. `hash`: only what asks for this blob. */
export function countGets(node: Devnode, hash?: string): CountedGets {
  return countCalls(node, 'getnevmblobdata', hash);
}

/** Counts at the node itself: a fault that changes nothing. `hash`: only calls with it. */
export function countCalls(node: Devnode, method: string, hash?: string): CountedGets {
  const handle = node.faults.add({
    fault: { kind: 'wrong-size', byBytes: 0 },
    methods: [method],
    ...(hash === undefined ? {} : { hash }),
  });
  return {
    get count() {
      return handle.hits;
    },
  };
}
