import { decodeHex } from '../core/blob/hex.ts';
import { readBatch, readBlobAnswer } from './blob-answer.ts';
import type { AskByName } from './dialect-finder.ts';
import { invalidArgument, malformedAnswer, NodeError, NodeRpcError } from './errors.ts';
import { parseLossless } from './lossless-json.ts';
import { METHOD_TABLE, type Operation } from './method-table.ts';
import { type BytesOf, type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from './node-call.ts';
import { NEVER_ABORTED } from './post.ts';
import { parseJson, type RpcAnswer, readEnvelope, resultOf } from './rpc-answer.ts';
import { type BatchedCall, encodeBatch, encodeCall } from './rpc-request.ts';
import type { NodeTransport, TransportRequest } from './transport.ts';

/** Result of one call in a batch. */
export type Settled<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: NodeError };

/** Sends encoded calls and reads their answers. */
export interface Exchange {
  one<T>(call: NodeCall<T>, spelled: BatchedCall, options: CallOptions): Promise<T>;
  batch<T>(calls: readonly NodeCall<T>[], spelled: readonly BatchedCall[], options: CallOptions): Promise<Settled<T>[]>;
  readonly askByName: AskByName;
}

const ID = 'holdfast';
const MAX_BATCH_ANSWER_BYTES = 256 * 1024 * 1024;

export function createExchange(
  transport: NodeTransport,
  defaults: { readonly wallet: string | null; readonly callMs: number },
): Exchange {
  function request(operations: readonly Operation[], sized: Sized, options: CallOptions): TransportRequest {
    const specs = operations.map((operation) => METHOD_TABLE[operation]);
    return {
      effect: specs.every(({ effect }) => effect === 'read') ? 'read' : 'submit',
      wallet: specs.some(({ path }) => path === 'wallet') ? (options.wallet ?? defaults.wallet) : null,
      body: sized.body,
      limitBytes: sized.limitBytes,
      timeoutMs: (options.timeoutMs ?? defaults.callMs) + sized.waitsMs,
      signal: options.signal ?? NEVER_ABORTED,
    };
  }

  return {
    one(call, { method, params }, options) {
      const sized = { body: encodeCall(ID, method, params), limitBytes: call.limitBytes, waitsMs: call.waitsMs ?? 0 };
      return transport.send(request([call.operation], sized, options), (body) => {
        const { value, bytesOf } = readAnswer(body, call.carriesBlobs === true);
        return finish(call, readEnvelope(value), ID, method, bytesOf);
      });
    },
    async batch(calls, spelled, options) {
      if (calls.length === 0) return [];
      if (calls.some(({ operation }) => METHOD_TABLE[operation].effect !== 'read')) {
        throw invalidArgument(
          'A batch may contain reads only: a lost batch of submissions would leave open which of them arrived.',
          'calls',
          null,
        );
      }
      const wanted = calls.reduce((sum, { limitBytes }) => sum + limitBytes, 0);
      const waitsMs = calls.reduce((sum, call) => sum + (call.waitsMs ?? 0), 0);
      const sized = { body: encodeBatch(spelled), limitBytes: Math.min(wanted, MAX_BATCH_ANSWER_BYTES), waitsMs };
      const operations = calls.map(({ operation }) => operation);
      return transport.send(request(operations, sized, options), (body) => {
        const { value, bytesOf } = readAnswer(
          body,
          calls.some(({ carriesBlobs }) => carriesBlobs === true),
        );
        // A node that is starting answers a batch with one error object.
        if (!Array.isArray(value)) resultOf(readEnvelope(value), '', 'a batch');
        const answers = readBatch(value);
        return calls.map((call, index) => settled(call, String(index), spelled[index], answers, bytesOf));
      });
    },
    askByName(method, params, signal) {
      const body = encodeCall(ID, method, params);
      return transport.send({ effect: 'read', wallet: null, body, limitBytes: SMALL_ANSWER_BYTES, signal }, (answer) =>
        resultOf(readEnvelope(readAnswer(answer, false).value), ID, method),
      );
    },
  };
}

interface Sized {
  readonly body: string;
  readonly limitBytes: number;
  readonly waitsMs: number;
}

function readAnswer(body: Buffer, carriesBlobs: boolean): { value: unknown; bytesOf: BytesOf } {
  if (carriesBlobs) return readBlobAnswer(body, []);
  return { value: parseJson(body.toString('utf8'), parseLossless), bytesOf: decodeHex };
}

function finish<T>(call: NodeCall<T>, answer: RpcAnswer, id: string, method: string, bytesOf: BytesOf): T {
  try {
    return call.decode(resultOf(answer, id, method), bytesOf);
  } catch (error) {
    if (!(error instanceof NodeRpcError)) throw error;
    const recovered = call.recover?.(error.rpcCode, error.rpcMessage);
    if (recovered === undefined) throw error;
    return recovered;
  }
}

function settled<T>(
  call: NodeCall<T>,
  id: string,
  spelled: BatchedCall | undefined,
  answers: ReadonlyMap<unknown, RpcAnswer>,
  bytesOf: BytesOf,
): Settled<T> {
  try {
    const answer = answers.get(id);
    if (answer === undefined)
      throw malformedAnswer('The answer to the batch lacks this call, or has it twice.', { id });
    return { ok: true, value: finish(call, answer, id, spelled?.method ?? '', bytesOf) };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return { ok: false, error };
  }
}
