import { z } from 'zod';
import type { BlockHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { type Clock, SYSTEM_CLOCK } from '../core/time/clock.ts';
import { BatchedReads, type BatchWatch, batchAnswers } from './batched-reads.ts';
import { type AnsweredBlob, blobOf, type RequestedBlob, readBlobAnswer } from './blob-answer.ts';
import { DataPages } from './data-pages.ts';
import { blockHash, decode, height, seconds } from './decode.ts';
import { unsupportedOperation } from './dialect-rules.ts';
import { malformedAnswer, NodeError, NodeRpcError } from './errors.ts';
import { type ReadablePage, readListPage } from './list-answer.ts';
import { type Dialect, type Operation, wireMethod } from './method-table.ts';
import { NO_REPETITION, withReadRetries } from './read-retry.ts';
import { parseJson, type RpcAnswer, readEnvelope, resultOf } from './rpc-answer.ts';
import { type ChainCalls, chainCalls } from './rpc-chain-calls.ts';
import { encodeCall } from './rpc-request.ts';
import { createTransport, type NodeTransport, type TransportOptions } from './transport.ts';

/** Tip of the node's active branch. */
export interface NodeTip {
  readonly height: number;
  readonly hash: BlockHash;
  readonly medianTimeSeconds: number;
  readonly syncing: boolean;
  /** `main`, `test`, `regtest`; null when the node does not report it. Archiving works without it. */
  readonly network: string | null;
}

export type BlobOutcome =
  /** `mayBeCustom`: the dialect `svc`, stated by the operator, allows bytes that match neither hash. */
  | ({ readonly kind: 'bytes'; readonly mayBeCustom: boolean } & AnsweredBlob)
  /** The node's own answer to this call: it lacks the blob. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: Error };

/** A node for the archive, an implementation of `BlobNode`. Works with every dialect that has blobs. */
export interface RpcBlobNode extends ChainCalls {
  readonly name: string;
  genesisHash(signal: AbortSignal): Promise<BlockHash>;
  tip(signal: AbortSignal): Promise<NodeTip>;
  listBlobs(page: { count: number; from: number }, signal: AbortSignal): Promise<ReadablePage>;
  fetchBlobs(wanted: readonly RequestedBlob[], signal: AbortSignal): Promise<BlobOutcome[]>;
  close(): Promise<void>;
}

const SMALL_ANSWER_BYTES = 256 * 1024;
/** Bytes reserved for a list entry of about 200 bytes. Release 4.4 repeats its store in pages behind its memory. */
const LIST_ENTRY_BYTES = 1_024;
/** Bytes of an answer to a get besides the blob: fields, or an error with a help text. */
const GET_ENVELOPE_BYTES = 8_192;
/** Headers that a synchronised node may have ahead of its blocks. With more, the node is catching up. */
const HEADERS_AHEAD = 6;
/**
 * Milliseconds until the first byte. A get takes 60 ms under the node's main lock, behind other calls; a longer silence
 * is a hang.
 */
const FIRST_BYTE_MS = 15_000;
const EACH_MORE_MS = 500;
const GET = 'getnevmblobdata';
const LIST = 'listnevmblobdata';

const chainInfo = z.object({
  chain: z.string().optional(),
  blocks: height,
  headers: height,
  bestblockhash: blockHash,
  mediantime: seconds,
  initialblockdownload: z.boolean(),
});

export interface BlobNodeOptions extends TransportOptions {
  /** Dialect of the node. A dialect without blobs is refused with a typed error. Default: `auto`. */
  readonly dialect?: Dialect | 'auto';
  readonly onBatches?: BatchWatch;
}

export function createBlobNode(options: BlobNodeOptions, clock: Pick<Clock, 'steadyMs'> = SYSTEM_CLOCK): RpcBlobNode {
  const { dialect = 'auto' } = options;
  const firstByteMs = options.timeouts?.firstByteMs ?? FIRST_BYTE_MS;
  const transport = withReadRetries(createTransport(options, clock), NO_REPETITION);
  const batches = new BatchedReads(transport, options.onBatches ?? (() => undefined), clock);
  const node = overTransport({ transport, batches, firstByteMs, clock }, dialect);
  if (dialect === 'auto' || wireMethod('getBlob', dialect) !== null) return node;
  const refuse = (operation: Operation) => Promise.reject(unsupportedOperation(operation, { dialect, version: null }));
  return { ...node, listBlobs: () => refuse('listBlobs'), fetchBlobs: () => refuse('getBlob') };
}

interface Wire {
  readonly transport: NodeTransport;
  readonly batches: BatchedReads;
  readonly firstByteMs: number;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

function overTransport(wire: Wire, dialect: Dialect | 'auto'): RpcBlobNode {
  const { transport, firstByteMs, clock } = wire;
  const mayBeCustom = dialect === 'svc';
  const pages = dialect === 'syscoin-5' ? null : new DataPages(transport, clock);
  function call(method: string, params: readonly unknown[], limitBytes: number, signal: AbortSignal): Promise<unknown> {
    const body = encodeCall(method, method, params);
    return transport.send({ effect: 'read', wallet: null, body, limitBytes, signal }, (answer) =>
      resultOf(readEnvelope(parseJson(answer.toString('utf8'))), method, method),
    );
  }

  return {
    name: transport.name,
    async genesisHash(signal) {
      return decode(blockHash, await call('getblockhash', [0], SMALL_ANSWER_BYTES, signal), 'getblockhash');
    },
    async tip(signal) {
      const method = 'getblockchaininfo';
      const info = decode(chainInfo, await call(method, [], SMALL_ANSWER_BYTES, signal), method);
      return {
        height: info.blocks,
        hash: info.bestblockhash,
        medianTimeSeconds: info.mediantime,
        network: info.chain ?? null,
        syncing: info.initialblockdownload || info.headers > info.blocks + HEADERS_AHEAD,
      };
    },
    async listBlobs({ count, from }, signal) {
      const limitBytes = SMALL_ANSWER_BYTES + Math.max(count, 0) * LIST_ENTRY_BYTES;
      const page = readListPage(await call(LIST, [count, from], limitBytes, signal));
      pages?.noteListed(page, from);
      return page;
    },
    async fetchBlobs(wanted, signal) {
      const paged = await pages?.fetch(wanted, firstByteMs, signal);
      const others = wanted.filter(({ versionHash }) => paged?.has(versionHash) !== true);
      const asked = await fetchBlobs(wire, others, signal);
      return wanted.map((one): BlobOutcome => {
        const found = paged?.get(one.versionHash);
        const outcome = found === undefined ? asked[others.indexOf(one)] : { kind: 'bytes' as const, ...found };
        if (outcome === undefined) throw malformedAnswer('The answer to the batch lacks this call.', {});
        return outcome.kind === 'bytes' ? { ...outcome, mayBeCustom } : outcome;
      });
    },
    ...chainCalls(transport, wire.batches),
    close: () => transport.close(),
  };
}

async function fetchBlobs(wire: Wire, wanted: readonly RequestedBlob[], signal: AbortSignal): Promise<BlobOutcome[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  // A single blob may have the largest size, whatever the list says.
  if (wanted.length === 1) return [await fetchAlone(wire, first, MAX_BLOB_BYTES, signal)];
  const sizes = wanted.map(({ sizeBytes }) => Math.min(sizeBytes, MAX_BLOB_BYTES));
  const request = {
    wallet: null,
    limitBytes: sizes.reduce((sum, sizeBytes) => sum + limitOf(sizeBytes), 0),
    firstByteMs: wire.firstByteMs + (wanted.length - 1) * EACH_MORE_MS,
    signal,
  };
  const read = (body: Buffer) => {
    const decoded = readBlobAnswer(body, wanted);
    const outcomes = new Map<number, BlobOutcome>();
    for (const [place, answer] of batchAnswers(decoded.value, wanted.length)) {
      const one = wanted[place];
      if (one === undefined) continue;
      outcomes.set(
        place,
        outcome(() => blobOf(resultOf(answer, String(place), GET), one, decoded)),
      );
    }
    return outcomes;
  };
  const calls = wanted.map(({ versionHash }) => ({ method: GET, params: [versionHash, true] }));
  return await wire.batches.ask(calls, request, read, async (place) => {
    const one = wanted[place] ?? first;
    try {
      return await fetchAlone(wire, one, sizes[place] ?? 0, signal);
    } catch (error) {
      // The blob is larger than listed; the others must not wait for it.
      if (error instanceof NodeError && error.code === 'node/body-too-large') return { kind: 'failed', error };
      throw error;
    }
  });
}

async function fetchAlone(
  { transport, firstByteMs }: Wire,
  one: RequestedBlob,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<BlobOutcome> {
  const body = encodeCall('0', GET, [one.versionHash, true]);
  const bounds = { limitBytes: limitOf(sizeBytes), firstByteMs };
  // A second attempt uses another connection, because a device on the first one may have corrupted the answer.
  const closesConnection = (one.attempts ?? 0) > 0;
  const request = { effect: 'read' as const, wallet: null, body, ...bounds, closesConnection, signal };
  return await transport.send(request, (answer) => {
    const decoded = readBlobAnswer(answer, [one]);
    const envelope = readEnvelope(decoded.value);
    throwIfWhole(envelope);
    return outcome(() => blobOf(resultOf(envelope, '0', GET), one, decoded));
  });
}

function limitOf(sizeBytes: number): number {
  return sizeBytes * 2 + GET_ENVELOPE_BYTES;
}

/** @throws NodeRpcError for an error that concerns the node as a whole, not this blob */
function throwIfWhole(answer: RpcAnswer): void {
  try {
    resultOf(answer, '0', GET);
  } catch (error) {
    if (error instanceof NodeRpcError && (error.code === 'node/absent' || error.code === 'node/rpc-error')) return;
    throw error;
  }
}

function outcome(read: () => AnsweredBlob): BlobOutcome {
  try {
    return { kind: 'bytes', mayBeCustom: false, ...read() };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return error.code === 'node/absent' ? { kind: 'absent' } : { kind: 'failed', error };
  }
}
