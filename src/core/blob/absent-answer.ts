/** The error of a node's JSON-RPC answer. */
interface AnsweredError {
  readonly code: number;
  readonly message: string;
}

/** JSON-RPC code for refused parameters. */
const INVALID_PARAMS = -32_602;
/**
 * Release 5 says "blob information" (recorded), and release 4.4 says "MTP" (read in its sources). The same code has other
 * messages, which deny nothing: a listed blob without its size or its bytes, a transaction without a blob.
 */
const NOT_FOUND = /^Could not find (?:blob information|MTP) for versionhash/;

/** Reports whether an error of `getnevmblobdata` says that the server lacks the blob. */
export function isAbsentAnswer({ code, message }: AnsweredError): boolean {
  return code === INVALID_PARAMS && NOT_FOUND.test(message);
}
