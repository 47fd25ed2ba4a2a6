/** Codes as a node of release 5 answers them (recorded: test/vectors/release-5.1.json). */
export const RPC_CODES = {
  misc: -1,
  type: -3,
  /** The branch has no such block. */
  notFound: -5,
  invalidParameter: -8,
  invalidRequest: -32600,
  methodNotFound: -32601,
  /** For a blob: it is proved absent. Clients take any of these for that, so nothing else may ever say it. */
  invalidParams: -32602,
  internal: -32603,
  parse: -32700,
} as const;

/** The answer of a call instead of a result. */
export class RpcError extends Error {
  readonly code: number;
  readonly httpStatus: number;
  readonly retryAfterSeconds: number | null;

  constructor(code: keyof typeof RPC_CODES | number, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.name = 'RpcError';
    this.code = typeof code === 'number' ? code : RPC_CODES[code];
    this.retryAfterSeconds = retryAfterSeconds;
    this.httpStatus = retryAfterSeconds === null ? statusOf(this.code) : 503;
  }

  /** The same for the public: by the names of places instead of their addresses. */
  inWords(words: (text: string) => string): RpcError {
    return new RpcError(this.code, words(this.message), this.retryAfterSeconds);
  }

  /** A refusal of the node behind, handed on. Its -32602 is about its own parameters, and never about a blob. */
  static ofNode(code: number, message: string): RpcError {
    return new RpcError(code, message);
  }
}

/** The archive cannot tell now: never a word about absence. */
export function rpcFault(message: string, retryAfterSeconds = 10): RpcError {
  return new RpcError('internal', message, retryAfterSeconds);
}

/** JSON-RPC 1.0 over HTTP: 400 malformed, 404 unknown method, 500 everything else (recorded). */
function statusOf(code: number): number {
  if (code === RPC_CODES.invalidRequest) return 400;
  return code === RPC_CODES.methodNotFound ? 404 : 500;
}
