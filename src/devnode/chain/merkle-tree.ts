import { doubleSha256 } from './double-sha256.ts';

/** One level up: pairs are hashed together, an odd last node with itself. */
export function parentLevel(level: readonly Buffer[]): Buffer[] {
  const parents: Buffer[] = [];
  for (let index = 0; index < level.length; index += 2) {
    const left = level[index];
    if (left === undefined) break;
    parents.push(doubleSha256(Buffer.concat([left, level[index + 1] ?? left])));
  }
  return parents;
}

/** All levels, leaves first; the last one is the root alone. */
export function merkleLevels(leaves: readonly Buffer[]): Buffer[][] {
  const levels: Buffer[][] = [[...leaves]];
  for (let level = [...leaves]; level.length > 1; ) {
    level = parentLevel(level);
    levels.push(level);
  }
  return levels;
}

export function merkleRoot(leaves: readonly Buffer[]): Buffer {
  return merkleLevels(leaves).at(-1)?.[0] ?? Buffer.alloc(32);
}
