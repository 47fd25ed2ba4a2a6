import { z } from 'zod';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { assetGuid } from '../../node/asset-guid.ts';
import { decimal } from '../../node/decimal-field.ts';
import {
  assetAllocationBalanceCall,
  assetAllocationSendCall,
  assetAllocationSendManyCall,
  assetInfoCall,
  bestBlockHashCall,
  bestChainLockCall,
  blockCall,
  blockCountCall,
  blockchainInfoCall,
  blockHashCall,
  blockHeaderCall,
  cacheStatisticsCall,
  chainTipsCall,
  createBlobCall,
  createRawBlobCall,
  getBlobCall,
  getBlobInfoCall,
  listBlobsCall,
  listBlobsWithDataCall,
  mempoolInfoCall,
  type NodeCall,
  networkInfoCall,
  rawBlockCall,
  rawBlockHeaderCall,
  rawMempoolCall,
  rawTransactionCall,
  transactionCall,
  txOutProofCall,
  uptimeCall,
  verifyTxOutProofCall,
  waitForNewBlockCall,
} from '../../node/index.ts';
import { knownMode, wholeBlocks } from '../fee-options.ts';
import type { CallWords } from './call-words.ts';

export interface RpcOperation {
  /** Spellings in the specification and the release lines. */
  readonly names: readonly string[];
  readonly words: string;
  readonly call: (words: CallWords) => NodeCall<unknown>;
}

function fee(words: CallWords, from: number) {
  const [target, mode, rate] = [words.optional(from), words.optional(from + 1), words.optional(from + 2)];
  return {
    ...(target === undefined ? {} : { confTarget: wholeBlocks(target) }),
    ...(mode === undefined ? {} : { estimateMode: knownMode(mode) }),
    ...(rate === undefined ? {} : { feeRate: rate }),
  };
}

function hashType(words: CallWords, at: number): { hashType?: 'keccak256' | 'blake2s256' } {
  const word = words.optional(at);
  if (word === undefined) return {};
  if (word === 'keccak' || word === 'keccak256') return { hashType: 'keccak256' };
  if (word === 'blake2s' || word === 'blake2s256') return { hashType: 'blake2s256' };
  throw words.wrong(`A hash type is keccak256 or blake2s256, not ${word}.`);
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  const entry: { [P in K]?: V } = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}

const decimalText = z.union([z.string(), decimal]);
const allocations = z.array(
  z.strictObject({
    asset_guid: assetGuid,
    address: z.string(),
    amount: decimalText,
    svc_amount: decimalText.optional(),
  }),
);
const listOptions = z.strictObject({ getdata: z.boolean().optional(), stats: z.boolean().optional() });

function list(words: CallWords): NodeCall<unknown> {
  const page = { ...given('count', words.whole(0)), ...given('from', words.whole(1)) };
  const options = listOptions.safeParse(words.json(2) ?? {});
  if (!options.success) throw words.wrong('The options are JSON like {"getdata":true} or {"stats":true}.');
  if (options.data.stats === true) return cacheStatisticsCall();
  if (options.data.getdata !== true) return listBlobsCall(page);
  return listBlobsWithDataCall({ ...page, maxBytes: (page.count ?? 10) * MAX_BLOB_BYTES });
}

function sendMany(words: CallWords): NodeCall<unknown> {
  const decoded = allocations.safeParse(words.json(0));
  if (!decoded.success) {
    throw words.wrong('The amounts are JSON: [{"asset_guid":"…","address":"…","amount":"…","svc_amount":"…"}, …].');
  }
  const sends = decoded.data.map(({ asset_guid: guid, address, amount, svc_amount: native }) => ({
    guid,
    address,
    amount,
    ...given('nativeAmount', native),
  }));
  const { confTarget, estimateMode } = fee(words, 3);
  return assetAllocationSendManyCall(sends, {
    ...given('replaceable', words.flag(1)),
    ...given('comment', words.optional(2)),
    ...given('confTarget', confTarget),
    ...given('estimateMode', estimateMode),
  });
}

const where = (words: CallWords, at: number) => {
  const hash = words.optional(at);
  return hash === undefined ? {} : { blockHash: parseBlockHash(hash) };
};

/** Every operation of the specification, and what else a node answers that an archiver needs. */
export const RPC_OPERATIONS: readonly RpcOperation[] = [
  {
    names: ['svccreatenevmblob', 'syscoincreatenevmblob'],
    words: '<data hex|@file> [overwrite_existing] [conf_target] [estimate_mode] [fee_rate] [hash_type]',
    call: (words) =>
      createBlobCall(words.bytes(0), {
        ...given('overwriteExisting', words.flag(1)),
        ...fee(words, 2),
        ...hashType(words, 5),
      }),
  },
  {
    names: ['svccreaterawnevmblob', 'syscoincreaterawnevmblob'],
    words: '<versionhash> <data hex|@file> [conf_target] [estimate_mode] [fee_rate] [hash_type]',
    call: (words) =>
      createRawBlobCall(parseVersionHash(words.text(0)), words.bytes(1), { ...fee(words, 2), ...hashType(words, 5) }),
  },
  { names: ['listnevmblobdata'], words: '[count] [from] [options json]', call: list },
  {
    names: ['getnevmblobdata'],
    words: '<versionhash or txid> [getdata]',
    call: (words) => (words.flag(1) === true ? getBlobCall : getBlobInfoCall)(parseVersionHash(words.text(0))),
  },
  { names: ['assetinfo'], words: '<asset_guid>', call: (words) => assetInfoCall(words.guid(0)) },
  {
    names: ['assetallocationbalance'],
    words: '<asset_guid> [addresses json]',
    call: (words) => {
      const addresses = z.array(z.string()).optional().safeParse(words.json(1));
      if (!addresses.success) throw words.wrong('The addresses are a JSON array of texts.');
      return assetAllocationBalanceCall(words.guid(0), addresses.data);
    },
  },
  {
    names: ['assetallocationsend'],
    words: '<asset_guid> <address> <amount> [svc_amount] [replaceable]',
    call: (words) =>
      assetAllocationSendCall(
        {
          guid: words.guid(0),
          address: words.text(1),
          amount: words.text(2),
          ...given('nativeAmount', words.optional(3)),
        },
        given('replaceable', words.flag(4)),
      ),
  },
  {
    names: ['assetallocationsendmany'],
    words: '<amounts json> [replaceable] [comment] [conf_target] [estimate_mode]',
    call: sendMany,
  },
  { names: ['getnetworkinfo'], words: '', call: networkInfoCall },
  { names: ['getblockchaininfo'], words: '', call: blockchainInfoCall },
  { names: ['getblockcount'], words: '', call: blockCountCall },
  { names: ['getbestblockhash'], words: '', call: bestBlockHashCall },
  { names: ['getblockhash'], words: '<height>', call: (words) => blockHashCall(words.whole(0) ?? -1) },
  {
    names: ['getblockheader'],
    words: '<blockhash> [verbose]',
    call: (words) => (words.flag(1) === false ? rawBlockHeaderCall : blockHeaderCall)(parseBlockHash(words.text(0))),
  },
  {
    names: ['getblock'],
    words: '<blockhash> [verbosity 0|1]',
    call: (words) => (words.whole(1) === 0 ? rawBlockCall : blockCall)(parseBlockHash(words.text(0))),
  },
  { names: ['getbestchainlock'], words: '', call: bestChainLockCall },
  { names: ['getchaintips'], words: '', call: chainTipsCall },
  {
    names: ['getrawtransaction'],
    words: '<txid> [verbose] [blockhash]',
    call: (words) =>
      (words.flag(1) === true ? transactionCall : rawTransactionCall)(parseTxId(words.text(0)), where(words, 2)),
  },
  {
    names: ['gettxoutproof'],
    words: '<txids json> [blockhash]',
    call: (words) => {
      const txids = z.array(z.string()).min(1).safeParse(words.json(0));
      if (!txids.success) throw words.wrong('The txids are a JSON array of texts.');
      return txOutProofCall(txids.data.map(parseTxId), where(words, 1));
    },
  },
  { names: ['verifytxoutproof'], words: '<proof hex>', call: (words) => verifyTxOutProofCall(words.bytes(0)) },
  { names: ['getrawmempool'], words: '', call: rawMempoolCall },
  { names: ['getmempoolinfo'], words: '', call: mempoolInfoCall },
  { names: ['waitfornewblock'], words: '[timeout ms]', call: (words) => waitForNewBlockCall(words.whole(0) ?? 30_000) },
  { names: ['uptime'], words: '', call: uptimeCall },
];
