/**
 * The one typed definition of the node's methods. The client encodes by it; the emulated node validates and answers by
 * it. Source: the interface specification and recordings of release 5.1.1.
 */

export const DIALECTS = ['svc', 'syscoin-4.2', 'syscoin-4.4', 'syscoin-5'] as const;
/** `svc`: the specification. The others: release lines of a public node with this interface. */
export type Dialect = (typeof DIALECTS)[number];

/** JSON types as the node's errors name them; `amount`: number or string. */
export type WireType = 'string' | 'number' | 'bool' | 'object' | 'array' | 'amount';

export interface ParamSpec {
  /** Name of the parameter in calls by name and in error messages. */
  readonly name: string;
  readonly type: WireType;
  readonly optional?: true;
}

/** One dialect's form of an operation. */
export interface WireMethod {
  readonly method: string;
  readonly params: readonly ParamSpec[];
}

export interface OperationSpec {
  /** `read`: a repetition has no effect. `submit`: the call may have taken effect although no answer arrived. */
  readonly effect: 'read' | 'submit';
  /** `wallet`: goes to `{base_url}/wallet/<name>` when the caller names a wallet. */
  readonly path: 'node' | 'wallet';
  /** The method in each dialect. A missing dialect lacks the operation. */
  readonly wire: Readonly<Partial<Record<Dialect, WireMethod>>>;
}

const required = <N extends string, T extends WireType>(name: N, type: T) => ({ name, type }) as const;
const optional = <N extends string, T extends WireType>(name: N, type: T) => ({ name, type, optional: true }) as const;

const FEE = [
  optional('conf_target', 'number'),
  optional('estimate_mode', 'string'),
  optional('fee_rate', 'amount'),
] as const;
const CREATE_WITH_FEE = [required('data', 'string'), optional('overwrite_existing', 'bool'), ...FEE] as const;
const CREATE_RAW_WITH_FEE = [required('versionhash', 'string'), required('data', 'string'), ...FEE] as const;
const LIST = [optional('count', 'number'), optional('from', 'number'), optional('options', 'object')] as const;
const GET = [required('versionhash_or_txid', 'string'), optional('getdata', 'bool')] as const;

const assetBalance = <T extends WireType>(addresses: T) =>
  [required('asset_guid', 'amount'), optional('addresses', addresses)] as const;
const assetSend = <N extends string>(nativeAmount: N) =>
  [
    required('asset_guid', 'amount'),
    required('address', 'string'),
    required('amount', 'amount'),
    optional(nativeAmount, 'amount'),
    optional('replaceable', 'bool'),
  ] as const;
const ASSET_SEND_MANY = [
  required('amounts', 'array'),
  optional('replaceable', 'bool'),
  optional('comment', 'string'),
  optional('conf_target', 'number'),
  optional('estimate_mode', 'string'),
] as const;

/** An operation with the same form in every dialect. */
function everywhere<const M extends string, const P extends readonly ParamSpec[]>(method: M, ...params: P) {
  const wire = { method, params } as const;
  return { svc: wire, 'syscoin-4.2': wire, 'syscoin-4.4': wire, 'syscoin-5': wire } as const;
}

/** An operation with the same form in every dialect with blobs. */
function withBlobs<const M extends string, const P extends readonly ParamSpec[]>(method: M, params: P) {
  const wire = { method, params } as const;
  return { svc: wire, 'syscoin-4.4': wire, 'syscoin-5': wire } as const;
}

/** An operation with the same form in every dialect with assets. */
function withAssets<const M extends string, const P extends readonly ParamSpec[]>(method: M, params: P) {
  const wire = { method, params } as const;
  return { svc: wire, 'syscoin-4.2': wire } as const;
}

export const METHOD_TABLE = {
  createBlob: {
    effect: 'submit',
    path: 'wallet',
    wire: {
      svc: { method: 'svccreatenevmblob', params: CREATE_WITH_FEE },
      'syscoin-4.4': { method: 'syscoincreatenevmblob', params: CREATE_WITH_FEE },
      'syscoin-5': {
        method: 'syscoincreatenevmblob',
        params: [required('data', 'string'), optional('overwrite_existing', 'bool'), optional('hash_type', 'string')],
      },
    },
  },
  createRawBlob: {
    effect: 'submit',
    path: 'wallet',
    wire: {
      svc: { method: 'svccreaterawnevmblob', params: CREATE_RAW_WITH_FEE },
      'syscoin-4.4': { method: 'syscoincreaterawnevmblob', params: CREATE_RAW_WITH_FEE },
      'syscoin-5': {
        method: 'syscoincreaterawnevmblob',
        params: [required('versionhash', 'string'), required('data', 'string'), optional('hash_type', 'string')],
      },
    },
  },
  listBlobs: { effect: 'read', path: 'node', wire: withBlobs('listnevmblobdata', LIST) },
  getBlob: { effect: 'read', path: 'node', wire: withBlobs('getnevmblobdata', GET) },

  assetInfo: { effect: 'read', path: 'node', wire: withAssets('assetinfo', [required('asset_guid', 'amount')]) },
  assetAllocationBalance: {
    effect: 'read',
    path: 'wallet',
    wire: {
      svc: { method: 'assetallocationbalance', params: assetBalance('string') },
      'syscoin-4.2': { method: 'assetallocationbalance', params: assetBalance('array') },
    },
  },
  assetAllocationSend: {
    effect: 'submit',
    path: 'wallet',
    wire: {
      svc: { method: 'assetallocationsend', params: assetSend('svc_amount') },
      'syscoin-4.2': { method: 'assetallocationsend', params: assetSend('sys_amount') },
    },
  },
  assetAllocationSendMany: {
    effect: 'submit',
    path: 'wallet',
    wire: withAssets('assetallocationsendmany', ASSET_SEND_MANY),
  },

  getNetworkInfo: { effect: 'read', path: 'node', wire: everywhere('getnetworkinfo') },
  getBlockchainInfo: { effect: 'read', path: 'node', wire: everywhere('getblockchaininfo') },
  getBlockCount: { effect: 'read', path: 'node', wire: everywhere('getblockcount') },
  getBestBlockHash: { effect: 'read', path: 'node', wire: everywhere('getbestblockhash') },
  getBlockHash: { effect: 'read', path: 'node', wire: everywhere('getblockhash', required('height', 'number')) },
  getBlockHeader: {
    effect: 'read',
    path: 'node',
    wire: everywhere('getblockheader', required('blockhash', 'string'), optional('verbose', 'bool')),
  },
  getBlock: {
    effect: 'read',
    path: 'node',
    wire: everywhere('getblock', required('blockhash', 'string'), optional('verbosity', 'number')),
  },
  getBestChainLock: { effect: 'read', path: 'node', wire: everywhere('getbestchainlock') },
  getChainTips: { effect: 'read', path: 'node', wire: everywhere('getchaintips') },
  getRawTransaction: {
    effect: 'read',
    path: 'node',
    wire: everywhere(
      'getrawtransaction',
      required('txid', 'string'),
      optional('verbose', 'bool'),
      optional('blockhash', 'string'),
    ),
  },
  getTxOutProof: {
    effect: 'read',
    path: 'node',
    wire: everywhere('gettxoutproof', required('txids', 'array'), optional('blockhash', 'string')),
  },
  verifyTxOutProof: { effect: 'read', path: 'node', wire: everywhere('verifytxoutproof', required('proof', 'string')) },
  getRawMempool: { effect: 'read', path: 'node', wire: everywhere('getrawmempool') },
  getMempoolInfo: { effect: 'read', path: 'node', wire: everywhere('getmempoolinfo') },
  waitForNewBlock: {
    effect: 'read',
    path: 'node',
    wire: everywhere('waitfornewblock', optional('timeout', 'number')),
  },
  uptime: { effect: 'read', path: 'node', wire: everywhere('uptime') },
} as const satisfies Record<string, OperationSpec>;

/** Holdfast's name of an operation, independent of the dialect. */
export type Operation = keyof typeof METHOD_TABLE;

export function wireMethod(operation: Operation, dialect: Dialect): WireMethod | null {
  const wire: OperationSpec['wire'] = METHOD_TABLE[operation].wire;
  return wire[dialect] ?? null;
}
