import { RpcError, rpcFault } from './rpc-error.ts';
import { wireText } from './wire-json.ts';

/** The node behind the façade, for what the operator allows by name. */
export interface NodePassThrough {
  readonly methods: ReadonlySet<string>;
  /** Rejects when the node does not answer; its own refusal is an answer. */
  call(
    method: string,
    params: string,
    signal: AbortSignal,
  ): Promise<{ readonly result: string } | { readonly code: number; readonly message: string }>;
}

/**
 * Hands a call on and its answer back: the node's own result, or its own code and message. When it does not answer, of
 * that nothing gets out: an address or a cookie may be in it.
 */
export async function passOn(
  { method, params }: { readonly method: string; readonly params: unknown },
  passThrough: NodePassThrough,
  signal: AbortSignal,
): Promise<string> {
  let reply: Awaited<ReturnType<NodePassThrough['call']>>;
  try {
    reply = await passThrough.call(method, wireText(params), signal);
  } catch {
    signal.throwIfAborted();
    throw rpcFault('The node cannot be asked now', 5);
  }
  if ('result' in reply) return reply.result;
  throw RpcError.ofNode(reply.code, reply.message);
}
