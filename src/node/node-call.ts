import type { NodeRelease } from './dialect-rules.ts';
import type { Operation } from './method-table.ts';

/** Returns the bytes of a `data` string in an answer, decoded before or now. */
export type BytesOf = (data: string) => Uint8Array;

export type NamedValues = Readonly<Record<string, unknown>>;

/** One call with checked arguments, which can be sent alone or in a batch. `T` is the type of its result. */
export interface NodeCall<T> {
  readonly operation: Operation;
  /**
   * Values by the names of the method table; undefined values are left out. A function when they depend on the release.
   */
  readonly named: NamedValues | ((release: NodeRelease) => NamedValues);
  /** Length in bytes of the longest valid answer. */
  readonly limitBytes: number;
  /** true when the answer contains blobs, which are cut out and decoded apart. */
  readonly carriesBlobs?: true;
  /** Milliseconds that the node is told to wait, added to the time limit. */
  readonly waitsMs?: number;
  /** @throws NodeError `node/malformed-answer` */
  decode(result: unknown, bytesOf: BytesOf): T;
  /** Converts an error of the node to a result; undefined keeps the error. */
  recover?(rpcCode: number, rpcMessage: string): T | undefined;
  /**
   * Verifies an answer by a further call, and resolves to the result.
   * @throws NodeError
   */
  confirm?(answered: T, ask: <A>(call: NodeCall<A>) => Promise<A>): Promise<T>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds for each attempt. Default: the client's limit. */
  readonly timeoutMs?: number;
  /** Wallet of the call. Default: the client's. */
  readonly wallet?: string;
}

export const SMALL_ANSWER_BYTES = 256 * 1024;
/** Bytes of a block of 8 MiB in hex, or of a mempool with 60,000 transactions. */
export const LARGE_ANSWER_BYTES = 16 * 1024 * 1024;
/**
 * Bytes of the largest block in hex. Consensus allows transactions of 4,000,000 bytes, and 32 MiB of execution-layer data
 * behind them. The bytes of blobs are not in it.
 */
export const LARGEST_BLOCK_BYTES = 2 * (4_000_000 + 32 * 1024 * 1024) + SMALL_ANSWER_BYTES;
