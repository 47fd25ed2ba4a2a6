import { HexText, type Reply, type ReplyObject } from '../rpc/reply.ts';
import { RpcError } from '../rpc/rpc-error.ts';
import type { AnswerFault } from './fault.ts';

/** Throws the RPC error of a fault that replaces the call. */
export function refuseCall(fault: AnswerFault): void {
  if (fault.kind === 'warming-up') throw new RpcError('warmingUp', 'Loading block index…');
  if (fault.kind === 'rpc-error') throw new RpcError(fault.code, fault.message);
}

/** Applies a fault to an answer; `hit` counts its earlier hits, so that repeated answers differ. */
export function alterReply(reply: Reply, fault: AnswerFault, hit: number): Reply {
  switch (fault.kind) {
    case 'warming-up':
    case 'rpc-error':
      return reply;
    case 'wrong-bytes':
      return withData(reply, flipLastDigit);
    case 'wrong-size':
      return withData(reply, (hex) => resize(hex, hex.length + 2 * fault.byBytes));
    case 'odd-hex':
      return withData(reply, (hex) => resize(hex, hex.length - 1));
    case 'non-hex':
      return withData(reply, (hex) => Buffer.concat([hex.subarray(0, -1), Buffer.from('g')]));
    case 'no-data':
      return withData(reply, () => null);
    case 'duplicate-entries':
      return isList(reply) ? reply.flatMap((entry) => [entry, entry]) : reply;
    case 'vanishing-entries':
      return isList(reply) ? reply.filter((_, index) => index % fault.every !== hit % fault.every) : reply;
    default:
      return fault satisfies never;
  }
}

/** Changes `data` of a blob, or of each blob in a list. */
function withData(reply: Reply, change: (hex: Buffer) => Buffer | null): Reply {
  if (isList(reply)) return reply.map((entry) => withData(entry, change));
  if (!isObject(reply)) return reply;
  const data = reply['data'];
  if (!(data instanceof HexText)) return reply;
  const changed = change(data.ascii);
  return { ...reply, data: changed === null ? undefined : new HexText(changed) };
}

function flipLastDigit(hex: Buffer): Buffer {
  const copy = Buffer.from(hex);
  copy[copy.length - 1] = copy.at(-1) === 0x30 ? 0x31 : 0x30;
  return copy;
}

function resize(hex: Buffer, length: number): Buffer {
  const sized = Buffer.alloc(Math.max(0, length), '0');
  hex.copy(sized);
  return sized;
}

function isList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}

function isObject(reply: Reply): reply is ReplyObject {
  return typeof reply === 'object' && reply !== null && !(reply instanceof HexText) && !isList(reply);
}
