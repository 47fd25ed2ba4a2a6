import type { DialectFinder } from './dialect-finder.ts';
import { byPosition, commonSpelling, type NodeRelease, spellingIn } from './dialect-rules.ts';
import type { NodeCall } from './node-call.ts';
import type { BatchedCall } from './rpc-request.ts';

type Spellable = Pick<NodeCall<unknown>, 'operation' | 'named'>;

/**
 * Encodes a call for the node's dialect. Detects the dialect only when the encodings differ.
 * @throws NodeError `node/unsupported-operation` before anything is sent
 */
export async function spell(call: Spellable, finder: DialectFinder, signal: AbortSignal): Promise<BatchedCall> {
  const common = finder.isGiven || typeof call.named === 'function' ? null : commonSpelling(call.operation);
  if (common === null || typeof call.named === 'function') return spellIn(call, await finder.release(signal));
  return { method: common.method, params: byPosition(call.operation, common, call.named, null) };
}

/** @throws NodeError `node/unsupported-operation` */
export function spellIn(call: Spellable, release: NodeRelease): BatchedCall {
  const wire = spellingIn(call.operation, release);
  const named = typeof call.named === 'function' ? call.named(release) : call.named;
  return { method: wire.method, params: byPosition(call.operation, wire, named, release) };
}
