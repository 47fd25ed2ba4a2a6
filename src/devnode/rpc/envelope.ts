import { type Reply, ReplyText } from './reply.ts';
import { RpcError } from './rpc-error.ts';
import { isWireArray, isWireObject, parseWire, type WireObject, type WireValue } from './wire-value.ts';

/** One parsed call. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly WireValue[] | WireObject;
}

export interface RpcAnswer {
  readonly status: number;
  readonly body: readonly Buffer[];
}

/** Answers a request body: a single call, or a batch whose errors stay inside its answer. */
export async function answerBody(text: string, perform: (call: RpcCall) => Promise<Reply>): Promise<RpcAnswer> {
  let request: WireValue;
  try {
    request = parseWire(text);
  } catch {
    return failure(new RpcError('parse', 'Parse error'), null);
  }
  if (isWireArray(request)) return answerBatch(request, perform);
  if (!isWireObject(request)) return failure(new RpcError('parse', 'Top-level object parse error'), null);
  try {
    const result = await perform(parseCall(request));
    return { status: 200, body: ReplyText.of(member(result, null, request['id'])).concat(NEW_LINE) };
  } catch (error) {
    return failure(error, request['id'] ?? null);
  }
}

const NEW_LINE = Buffer.from('\n');

async function answerBatch(
  requests: readonly WireValue[],
  perform: (call: RpcCall) => Promise<Reply>,
): Promise<RpcAnswer> {
  const replies: Reply[] = [];
  for (const request of requests) {
    const id = isWireObject(request) ? (request['id'] ?? null) : null;
    try {
      if (!isWireObject(request)) throw new RpcError('invalidRequest', 'Invalid Request object');
      replies.push(member(await perform(parseCall(request)), null, id));
    } catch (error) {
      replies.push(member(null, errorObject(error), id));
    }
  }
  return { status: 200, body: ReplyText.of(replies).concat(NEW_LINE) };
}

function parseCall(request: WireObject): RpcCall {
  const method = request['method'] ?? null;
  if (method === null) throw new RpcError('invalidRequest', 'Missing method');
  if (typeof method !== 'string') throw new RpcError('invalidRequest', 'Method must be a string');
  const params = request['params'] ?? null;
  if (params === null) return { method, params: [] };
  if (isWireArray(params) || isWireObject(params)) return { method, params };
  throw new RpcError('invalidRequest', 'Params must be an array or object');
}

function failure(error: unknown, id: WireValue): RpcAnswer {
  const status = error instanceof RpcError ? error.httpStatus : 500;
  return { status, body: ReplyText.of(member(null, errorObject(error), id)).concat(NEW_LINE) };
}

/** Answers version 2.0 like 1.0: both members, and the HTTP status of the error (recorded). */
function member(result: Reply, error: Reply, id: WireValue | undefined): Reply {
  return { result, error, id: id ?? null };
}

function errorObject(error: unknown): Reply {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  // A bug of the emulator must be visible: -1 is the node's code for an unexpected exception.
  return { code: -1, message: error instanceof Error ? `devnode: ${error.stack ?? error.message}` : String(error) };
}
