import { readFileSync, rmSync } from 'node:fs';
import { writeHeapSnapshot } from 'node:v8';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

/** The memory that one owner holds. */
export interface Held {
  readonly heapBytes: number;
  /** Memory of `ArrayBuffer`s, which is outside of the heap. */
  readonly bufferBytes: number;
}

const array = <T>() => z.custom<readonly T[]>(Array.isArray);
const kinds = z.tuple([array<string>()], z.unknown());
/** A heap snapshot, as the developer tools of V8 write it: https://github.com/v8/v8/blob/main/src/profiler/heap-snapshot-generator.cc */
const snapshotSchema = z.object({
  snapshot: z.object({
    meta: z.object({
      node_fields: array<string>(),
      node_types: kinds,
      edge_fields: array<string>(),
      edge_types: kinds,
    }),
  }),
  nodes: array<number>(),
  edges: array<number>(),
  strings: array<string>(),
});

/** V8 knows equal strings by it, and holds none of them with it. */
const WEAK_ROOT = '(Internalized strings)';
const BUFFER = 'system / JSArrayBufferData';
const CODE_KINDS = new Set(['code', 'object shape']);
/** The owner of compiled code and of the shapes of objects, which grow with what has run. */
export const CODE = 'compiled code';
/** The owner of everything in an `LRUCache`: each has a limit, and fills up to it. */
export const LIMITED = 'caches with a limit';

/** Gives the place of a named field in a record, as the head of a snapshot says. */
function columns(fields: readonly string[]): (name: string) => number {
  return (name) => {
    const at = fields.indexOf(name);
    if (at < 0) throw new Error(`no ${name} in a heap snapshot of this V8`);
    return at;
  };
}

/**
 * Gives everything that V8 can reach without a step through an object of these classes, by its owner: the last object of a class
 * on a shortest way to it, with the property that leads on. Builtins are no owners; `CODE` and `LIMITED` are.
 * @param path where the snapshot lies meanwhile
 */
export function reachableHeap(path: string, behind: ReadonlySet<string>): ReadonlyMap<string, Held> {
  writeHeapSnapshot(path);
  const { snapshot, nodes, edges, strings } = snapshotSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  rmSync(path);
  const { meta } = snapshot;
  const [node, edge] = [columns(meta.node_fields), columns(meta.edge_fields)];
  const [kindAt, nameAt, sizeAt, countAt] = [node('type'), node('name'), node('self_size'), node('edge_count')];
  const [edgeKindAt, edgeNameAt, toAt] = [edge('type'), edge('name_or_index'), edge('to_node')];
  const [nodeWidth, edgeWidth] = [meta.node_fields.length, meta.edge_fields.length];
  const [[nodeKinds], [edgeKinds]] = [meta.node_types, meta.edge_types];
  const word = (index: number | undefined): string => strings[index ?? -1] ?? '';

  // The edges of a node follow those of the node before it.
  const firstEdge = new Uint32Array(nodes.length / nodeWidth + 1);
  for (let at = 0; at < firstEdge.length - 1; at += 1) {
    firstEdge[at + 1] = (firstEdge[at] ?? 0) + (nodes[at * nodeWidth + countAt] ?? 0);
  }
  const held = new Map<string, { heapBytes: number; bufferBytes: number }>();
  const owners = new Map<number, string>([[0, 'V8']]);
  // A map gives what is added while it is walked: the shortest ways first.
  for (const [at, owner] of owners) {
    const record = at * nodeWidth;
    const [kind, name] = [nodeKinds[nodes[record + kindAt] ?? -1] ?? '', word(nodes[record + nameAt])];
    const isBehind = kind === 'object' && behind.has(name);
    if (isBehind || (kind === 'synthetic' && name === WEAK_ROOT)) continue;
    const size = nodes[record + sizeAt] ?? 0;
    const sum = held.get(owner) ?? { heapBytes: 0, bufferBytes: 0 };
    if (name === BUFFER) sum.bufferBytes += size;
    else sum.heapBytes += size;
    held.set(owner, sum);
    const isObject = kind === 'object' && owner !== LIMITED;
    const isCache = isObject && name === LRUCache.name;
    const isOwner = isObject && /^[A-Z]\w+$/.test(name) && !(name in globalThis) && name !== 'Generator';
    for (let of = firstEdge[at] ?? 0; of < (firstEdge[at + 1] ?? 0); of += 1) {
      const [edgeKind, edgeName, to] = [edgeKindAt, edgeNameAt, toAt].map((column) => edges[of * edgeWidth + column]);
      const way = edgeKinds[edgeKind ?? -1] ?? '';
      const next = (to ?? 0) / nodeWidth;
      if (way === 'weak' || owners.has(next)) continue;
      const isNamed = way === 'property' || way === 'internal' || way === 'context';
      const isCode = owner !== LIMITED && CODE_KINDS.has(nodeKinds[nodes[next * nodeWidth + kindAt] ?? -1] ?? '');
      const inherited = isCache ? LIMITED : isOwner ? `${name}.${isNamed ? word(edgeName) : '…'}` : owner;
      owners.set(next, isCode ? CODE : inherited);
    }
  }
  return held;
}
