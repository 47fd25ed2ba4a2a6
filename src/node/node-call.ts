import type { NodeRelease } from './dialect-rules.ts';
import type { Operation } from './method-table.ts';

/** Where the bytes of a `data` string of the answer are: decoded already, or decoded now. */
export type BytesOf = (data: string) => Uint8Array;

export type NamedValues = Readonly<Record<string, unknown>>;

/**
 * One call, ready to be made, alone or in a batch. Making one checks its arguments; nothing is sent by it.
 * `T`: what comes out.
 */
export interface NodeCall<T> {
  readonly operation: Operation;
  /** Values by the names of the method table; undefined is left out. A function where they depend on the release. */
  readonly named: NamedValues | ((release: NodeRelease) => NamedValues);
  /** The longest answer that can be right. */
  readonly limitBytes: number;
  /** The answer has blobs in it: they are cut out of it and decoded aside. */
  readonly carriesBlobs?: true;
  /** How long the node itself is told to wait; added to the time limit. */
  readonly waitsMs?: number;
  /** @throws NodeError `node/malformed-answer` */
  decode(result: unknown, bytesOf: BytesOf): T;
  /** An answer that the node gives as an error. undefined: it is one. */
  recover?(rpcCode: number, rpcMessage: string): T | undefined;
  /** Checks an answer that takes a further call to be believed; gives what the caller gets. @throws NodeError */
  confirm?(answered: T, ask: <A>(call: NodeCall<A>) => Promise<A>): Promise<T>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For each try; default: that of the client. */
  readonly timeoutMs?: number;
  /** Default: that of the client. */
  readonly wallet?: string;
}

export const SMALL_ANSWER_BYTES = 256 * 1024;
/** A block of 4 MiB without its blobs' bytes, in hex; a memory pool of 60,000 transactions. */
export const LARGE_ANSWER_BYTES = 16 * 1024 * 1024;
