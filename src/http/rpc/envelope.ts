import { setImmediate as nextTurn } from 'node:timers/promises';
import { type JsonSize, jsonSize } from '../../core/blob/bounded-json.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { Answer } from '../answer.ts';
import { type ReplyPart, replyBody } from './reply-body.ts';
import { RpcError, rpcFault } from './rpc-error.ts';
import { idText, isWireObject, parseWire } from './wire-json.ts';

export interface RpcCall {
  readonly method: string;
  /** A list or an object. */
  readonly params: unknown;
}

/** Performs one call; throws RpcError for what the caller is to hear, and anything else for a fault. */
export type Perform = (call: RpcCall) => Promise<readonly ReplyPart[]>;

/** Whole batches of a window's names fit; each call costs a look into the catalog at least. */
export const MAX_CALLS = 1_024;
/** Answers of a batch besides the data of blobs: two lists of a full window. What comes behind them is refused. */
const MAX_BATCH_CHARS = 2 * 1_048_576;
/** A full batch has twelve values and names a call. Parsing this many takes some milliseconds. */
export const MAX_TOKENS = 16 * MAX_CALLS;
/** No call of a node nests deeper than its options do. */
const MAX_DEPTH = 32;
/** The archive works in this process too: a long batch lets others have their turn. */
const TURN_MS = 10;

/** A body that was measured before any of it is decoded. What has too many values is not looked at further. */
export interface MeasuredBody {
  readonly bytes: Uint8Array;
  readonly size: JsonSize;
}

export function measure(bytes: Uint8Array): MeasuredBody {
  const { buffer, byteOffset, length } = bytes;
  return { bytes, size: jsonSize(Buffer.from(buffer, byteOffset, length).toString('latin1'), MAX_TOKENS) };
}

/** The refusal of a body that is too much to be parsed; null: it can be parsed. */
function tooMuchJson({ tokens, depth }: JsonSize): Answer | null {
  if (tokens > MAX_TOKENS)
    return failure(new RpcError('invalidRequest', `A body has at most ${MAX_TOKENS} values`), 'null');
  if (depth > MAX_DEPTH) return failure(new RpcError('parse', 'Parse error: nested too deeply'), 'null');
  return null;
}

/**
 * Answers one call or a batch as a node does (recorded): status by the error, a batch always 200 with errors inside. A
 * batch whose client is gone is not gone on with: then it throws the signal's reason.
 */
export async function answerRpc(
  body: MeasuredBody,
  perform: Perform,
  clock: Pick<Clock, 'steadyMs'>,
  signal: AbortSignal,
): Promise<Answer> {
  const refused = tooMuchJson(body.size);
  if (refused !== null) return refused;
  let request: unknown;
  try {
    request = parseWire(new TextDecoder('utf-8', { fatal: true }).decode(body.bytes));
  } catch {
    return failure(new RpcError('parse', 'Parse error'), 'null');
  }
  if (Array.isArray(request)) return answerBatch(request, perform, clock, signal);
  if (!isWireObject(request)) return failure(new RpcError('parse', 'Top-level object parse error'), 'null');
  const id = idText(request['id']);
  try {
    return rpcAnswer(200, member(await perform(callOf(request)), id), null);
  } catch (error) {
    return failure(error, id);
  }
}

async function answerBatch(
  requests: readonly unknown[],
  perform: Perform,
  clock: Pick<Clock, 'steadyMs'>,
  signal: AbortSignal,
): Promise<Answer> {
  if (requests.length > MAX_CALLS) {
    return failure(new RpcError('invalidRequest', `A batch has at most ${MAX_CALLS} calls here`), 'null');
  }
  const parts: ReplyPart[] = [];
  let chars = 0;
  let turnMs = clock.steadyMs();
  for (const request of requests) {
    if (clock.steadyMs() - turnMs > TURN_MS) {
      await nextTurn();
      signal.throwIfAborted();
      turnMs = clock.steadyMs();
    }
    parts.push(parts.length === 0 ? '[' : ',');
    const id = isWireObject(request) ? idText(request['id']) : 'null';
    try {
      if (!isWireObject(request)) throw new RpcError('invalidRequest', 'Invalid Request object');
      if (chars > MAX_BATCH_CHARS) throw rpcFault('The answer would be too large; send fewer calls at a time', 1);
      const answer = member(await perform(callOf(request)), id);
      chars += answer.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0);
      parts.push(...answer);
    } catch (error) {
      parts.push(errorMember(asRpcError(error), id));
    }
  }
  return rpcAnswer(200, [...(parts.length === 0 ? ['['] : parts), ']'], null);
}

function callOf(request: Readonly<Record<string, unknown>>): RpcCall {
  const method = request['method'] ?? null;
  if (method === null) throw new RpcError('invalidRequest', 'Missing method');
  if (typeof method !== 'string') throw new RpcError('invalidRequest', 'Method must be a string');
  const params = request['params'] ?? [];
  if (Array.isArray(params) || isWireObject(params)) return { method, params };
  throw new RpcError('invalidRequest', 'Params must be an array or object');
}

function failure(thrown: unknown, id: string): Answer {
  const error = asRpcError(thrown);
  return rpcAnswer(error.httpStatus, [errorMember(error, id)], error.retryAfterSeconds);
}

/** A fault's details do not get out; the performer of the call reports it. */
function asRpcError(error: unknown): RpcError {
  return error instanceof RpcError ? error : rpcFault('The archive cannot answer now');
}

function member(result: readonly ReplyPart[], id: string): ReplyPart[] {
  return ['{"result":', ...result, `,"error":null,"id":${id}}`];
}

function errorMember({ code, message }: RpcError, id: string): string {
  return `{"result":null,"error":${JSON.stringify({ code, message })},"id":${id}}`;
}

function rpcAnswer(status: number, parts: readonly ReplyPart[], retryAfterSeconds: number | null): Answer {
  const retry = retryAfterSeconds === null ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) };
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...retry },
    body: replyBody([...parts, '\n']),
  };
}
