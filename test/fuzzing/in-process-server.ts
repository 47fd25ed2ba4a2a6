import net from 'node:net';
import { Duplex } from 'node:stream';

/** Address of the server, as its clients know it. No name server knows it. */
export const FUZZED_ORIGIN = 'http://fuzzed.invalid';
const HOST = 'fuzzed.invalid';
/** One question takes a few requests. A client that asks on and on has no end. */
const MAX_REQUESTS = 200;
/** Between two answers in an input. */
export const NEXT_ANSWER = '\n%%\n';

/** Answers of one input, as bytes on connections. */
export interface Script {
  readonly answers: readonly Uint8Array[];
  /** Bytes that arrive at once; 0: each answer as a whole. */
  readonly pieceBytes: number;
}

/**
 * Takes the place of every server at `FUZZED_ORIGIN` inside this process: undici's own connections, its parser and all
 * above it are real, and no byte goes through the system. Each request gets the next answer of the script, and the last one
 * again and again; then the connection ends.
 */
export class InProcessServer {
  readonly #connect = net.connect;
  #script: Script = { answers: [], pieceBytes: 0 };
  #requests = 0;

  open(): void {
    const real = this.#connect;
    const fake = (...given: Parameters<typeof net.connect>) => {
      const [options] = given as unknown[];
      const isOurs = typeof options === 'object' && options !== null && 'host' in options && options.host === HOST;
      return isOurs ? new ClientSide(() => this.#answer()) : real(...given);
    };
    Object.assign(net, { connect: fake });
  }

  close(): void {
    Object.assign(net, { connect: this.#connect });
  }

  play(script: Script): void {
    this.#script = script;
    this.#requests = 0;
  }

  /** Throws where a client never came to an end by itself. */
  assertEnded(): void {
    if (this.#requests > MAX_REQUESTS) throw new Error(`One question became more than ${MAX_REQUESTS} requests.`);
  }

  /** null: the connection ends without an answer. */
  #answer(): { readonly bytes: Uint8Array; readonly pieceBytes: number } | null {
    const { answers, pieceBytes } = this.#script;
    const bytes = answers[Math.min(this.#requests, answers.length - 1)];
    this.#requests += 1;
    return bytes === undefined || this.#requests > MAX_REQUESTS ? null : { bytes, pieceBytes };
  }
}

type Answering = () => { readonly bytes: Uint8Array; readonly pieceBytes: number } | null;

/** The client's end of a connection. */
class ClientSide extends Duplex {
  readonly #answer: Answering;
  #received = '';
  #isAnswered = false;

  constructor(answer: Answering) {
    super({ autoDestroy: true });
    this.#answer = answer;
    process.nextTick(() => this.emit('connect'));
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#received += chunk.toString('latin1');
    if (!this.#isAnswered && isWholeRequest(this.#received)) {
      this.#isAnswered = true;
      process.nextTick(() => this.#send());
    }
    done();
  }

  #send(): void {
    const answer = this.#answer();
    if (this.destroyed) return;
    if (answer !== null) {
      const { bytes, pieceBytes } = answer;
      const step = pieceBytes === 0 ? bytes.length : pieceBytes;
      for (let at = 0; at < bytes.length; at += step) this.push(Buffer.from(bytes.subarray(at, at + step)));
    }
    this.push(null);
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function isWholeRequest(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end + 2));
  if (length !== null) return text.length >= end + 4 + Number(length[1]);
  return !/\r\ntransfer-encoding: *chunked/i.test(text.slice(0, end + 2)) || text.endsWith('0\r\n\r\n');
}

const RAW = 0x80;

/**
 * Reads the answers of an input, which begin after two bytes. The target reads the first one. The second one tells the
 * size of pieces, and whether a length stays as it is. Otherwise it follows its body, so that changed bodies are read.
 */
export function scriptOf(input: Uint8Array): Script {
  const how = input[1] ?? 0;
  const text = Buffer.from(input.subarray(2)).toString('latin1');
  const answers = text
    .split(NEXT_ANSWER)
    .map((answer) => Buffer.from(how >= RAW ? answer : withLength(answer), 'latin1'));
  return { answers, pieceBytes: how % 32 };
}

/** The message with the length of all that follows its headers. Without a body it stays as it is, as after HEAD. */
export function withLength(message: string): string {
  const end = message.indexOf('\r\n\r\n') + 4;
  if (end < 4 || end === message.length) return message;
  const head = message.slice(0, end).replace(/(\r\ncontent-length: *)\d+/i, `$1${message.length - end}`);
  return `${head}${message.slice(end)}`;
}

/** An input: the number of an operation, the size of pieces, and answers. */
export function inputOf(operation: number, answers: readonly (Uint8Array | string)[], pieceBytes = 0): Uint8Array {
  const parts = answers.flatMap((answer, index) => [
    ...(index === 0 ? [] : [Buffer.from(NEXT_ANSWER)]),
    typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer,
  ]);
  return Buffer.concat([Buffer.of(operation, pieceBytes), ...parts]);
}

export function httpAnswer(
  status: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string,
): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const all = { 'content-length': String(bytes.length), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n`), bytes]);
}

/** Without a length, in pieces, with fields behind the last one. */
export function chunkedAnswer(
  status: string,
  headers: Readonly<Record<string, string>>,
  pieces: readonly string[],
  trailers: Readonly<Record<string, string>> = {},
): Buffer {
  const lines = (fields: Readonly<Record<string, string>>) =>
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
  const chunks = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`).join('');
  const head = `HTTP/1.1 ${status}\r\n${lines({ 'transfer-encoding': 'chunked', ...headers })}\r\n`;
  return Buffer.from(`${head}${chunks}0\r\n${lines(trailers)}\r\n`);
}
