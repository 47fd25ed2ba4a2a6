import type { Readable } from 'node:stream';
import type { Pace } from './pace.ts';

/** Bytes of an answer. They are made only when they are sent: HEAD needs their number alone. */
export interface AnswerBody {
  readonly lengthBytes: number;
  /** The bytes that it holds in memory while it is under way. */
  readonly heldBytes: number;
  make(): Uint8Array;
}

/** Lines that are sent as they come, each with a line feed; their number of bytes is not known before. */
export interface AnswerLines {
  readonly lengthBytes: null;
  open(): AsyncIterable<string>;
}

/** Bytes that are read while they are sent. `begin` is called first, then either `stream` or `drop`, once. Each part takes a turn. */
export interface AnswerParts {
  readonly lengthBytes: number;
  /** The bytes that it holds in memory while it is under way, with parts that are small. */
  readonly heldBytes: number;
  /** Reads the first part, before the client is promised anything. Rejects when the bytes are not those that were proven. */
  begin(pace: Pace): Promise<void>;
  stream(pace: Pace): Readable;
  /** Called when the body is not sent after all. */
  drop(): void;
}

/** The answer of a route: a value, so that a route can be read and tested without a server. Header names in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** null: the status forbids one (204, 304). */
  readonly body: AnswerBody | AnswerLines | AnswerParts | null;
}

/** Bytes that a hash names never change; a client that holds them need not ask again. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';

/** The bytes themselves, not a copy. `heldBytes`: where they are in memory whether they are sent or not. */
export function bodyOf(bytes: Uint8Array, heldBytes: number = bytes.length): AnswerBody {
  return { lengthBytes: bytes.length, heldBytes, make: () => bytes };
}

/** A word for programs, true now. */
export function textAnswer(text: string): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' },
    body: bodyOf(Buffer.from(text)),
  };
}

/** Events as they happen, a JSON value a line; the connection ends with the last. */
export function linesAnswer(open: () => AsyncIterable<string>): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
    body: { lengthBytes: null, open },
  };
}

/** State, true now and perhaps not a second later: never cached. */
export function jsonAnswer(value: unknown): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: bodyOf(Buffer.from(JSON.stringify(value))),
  };
}
