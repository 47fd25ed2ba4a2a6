/** Bytes of an answer. They are made only when they are sent: HEAD needs their number alone. */
export interface AnswerBody {
  readonly lengthBytes: number;
  make(): Uint8Array;
}

/** What a route answers: a value, so that a route can be read and tested without a server. Header names in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** null: the status forbids one (204, 304). */
  readonly body: AnswerBody | null;
}

/** Bytes that a hash names never change; whoever holds them need not ask again. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';

/** The bytes themselves, not a copy. */
export function bodyOf(bytes: Uint8Array): AnswerBody {
  return { lengthBytes: bytes.length, make: () => bytes };
}

/** A word for programs, true now. */
export function textAnswer(text: string): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' },
    body: bodyOf(Buffer.from(text)),
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
