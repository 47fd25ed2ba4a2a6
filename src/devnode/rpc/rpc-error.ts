/** Codes of the node's own errors (recorded, or from the node's sources). */
export const RPC_CODES = {
  misc: -1,
  type: -3,
  wallet: -4,
  invalidAddressOrKey: -5,
  insufficientFunds: -6,
  invalidParameter: -8,
  database: -20,
  deserialization: -22,
  warmingUp: -28,
  walletNotFound: -18,
  walletNotSpecified: -19,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  parse: -32700,
} as const;

/** An error that the emulated node answers to its client. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: keyof typeof RPC_CODES | number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = typeof code === 'number' ? code : RPC_CODES[code];
  }

  /** JSON-RPC 1.0 over HTTP: 400 malformed, 404 unknown method, 500 everything else (recorded). */
  get httpStatus(): number {
    if (this.code === RPC_CODES.invalidRequest) return 400;
    return this.code === RPC_CODES.methodNotFound ? 404 : 500;
  }
}
