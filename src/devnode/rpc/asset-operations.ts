import type { Dialect } from '../../node/method-table.ts';
import { type Allocation, type Asset, totalOf } from '../ledger/asset-ledger.ts';
import { parseAddress, parseGuid, parseUnits } from './asset-values.ts';
import type { Handler, NodeContext } from './node-context.ts';
import { amount, type Reply } from './reply.ts';
import { RpcError } from './rpc-error.ts';
import { checkEstimate, walletOf } from './wallet-rules.ts';
import { isWireArray, isWireObject, parseWire, WireNumber, type WireValue } from './wire-value.ts';

/** Most recipients of one transaction (specification). */
const MAX_RECIPIENTS = 250;
const NATIVE_DECIMALS = 8;
/** Estimate modes of this call. The specification wants upper case here and accepts any case elsewhere. */
const UPPER_CASE_MODES = new Set(['UNSET', 'ECONOMICAL', 'CONSERVATIVE']);

export const assetInfo: Handler = (params, node) => {
  const asset = assetOf(node, params.get('asset_guid'));
  return {
    asset_guid: guidView(node.dialect, asset.guid),
    symbol: asset.symbol,
    public_value: { desc: asset.description },
    contract: asset.contract,
    notary_address: asset.notaryAddress,
    total_supply: amount(asset.totalSupplyUnits, asset.precision),
    max_supply: amount(asset.maxSupplyUnits, asset.precision),
    updatecapability_flags: asset.updateCapabilityFlags,
    precision: asset.precision,
  };
};

export const assetAllocationBalance: Handler = (params, node, site) => {
  const asset = assetOf(node, params.get('asset_guid'));
  const addresses = addressesIn(params.get('addresses')) ?? [node.assets.addressOf(walletOf(node, site))];
  const { units, sats } = node.assets.balance(asset.guid, addresses);
  return { amount: amount(sats), asset_amount: amount(units, asset.precision) };
};

export const assetAllocationSend: Handler = (params, node, site) => {
  const nativeAmount = params.get(nativeName(node.dialect));
  const allocation = allocationOf(
    node,
    params.get('asset_guid'),
    params.get('address'),
    params.get('amount'),
    nativeAmount,
  );
  return send(node, walletOf(node, site), [allocation], params.bool('replaceable', true));
};

export const assetAllocationSendMany: Handler = (params, node, site) => {
  const entries = params.array('amounts');
  if (entries.length === 0) throw new RpcError('invalidParameter', 'Invalid parameter, amounts is empty');
  if (entries.length > MAX_RECIPIENTS) {
    throw new RpcError('invalidParameter', `Too many recipients, at most ${MAX_RECIPIENTS} in one transaction`);
  }
  const mode = params.optionalString('estimate_mode');
  if (mode !== null && !UPPER_CASE_MODES.has(mode)) {
    throw new RpcError('invalidParameter', 'Invalid estimate_mode parameter');
  }
  checkEstimate(mode, params.optionalNumber('conf_target'));
  const allocations = entries.map((entry) => {
    if (!isWireObject(entry)) throw new RpcError('invalidParameter', 'Invalid parameter, expected object');
    const { asset_guid: guid = null, address = null, amount: sent = null } = entry;
    return allocationOf(node, guid, address, sent, entry[nativeName(node.dialect)] ?? null);
  });
  return send(node, walletOf(node, site), allocations, params.bool('replaceable', true));
};

function send(node: NodeContext, wallet: string, allocations: readonly Allocation[], replaceable: boolean): Reply {
  const problem = node.assets.problem(wallet, allocations);
  if (problem !== null) throw new RpcError('insufficientFunds', 'Insufficient funds');
  const transaction = node.state.sendAssets(wallet, allocations, replaceable);
  if (transaction === null) throw new RpcError('insufficientFunds', 'Insufficient funds');
  const guids = [...new Set(allocations.map(({ guid }) => guid))];
  const sent = guids.map((guid) => {
    const total = totalOf(allocations, guid);
    return {
      asset_guid: guidView(node.dialect, guid),
      amount: amount(total.units, node.assets.asset(guid)?.precision),
      [nativeName(node.dialect)]: amount(total.sats),
    };
  });
  return { txid: transaction.txid, assetallocations_sent_count: sent.length, assetallocations_sent: sent };
}

function allocationOf(
  node: NodeContext,
  guid: WireValue,
  address: WireValue,
  sent: WireValue,
  native: WireValue,
): Allocation {
  const asset = assetOf(node, guid);
  const units = parseUnits(sent, asset.precision);
  if (units === 0n) throw new RpcError('type', 'Invalid amount for send');
  const sats = native === null ? 0n : parseUnits(native, NATIVE_DECIMALS);
  return { guid: asset.guid, address: parseAddress(address), units, sats };
}

function assetOf(node: NodeContext, guid: WireValue): Asset {
  const asset = node.assets.asset(parseGuid(guid));
  if (asset === null) throw new RpcError('database', 'Failed to read from asset DB');
  return asset;
}

/**
 * Parses a JSON array in a string (the specification), or an array (release 4.2). null: all addresses of the wallet, which
 * an empty array means in release 4.2.
 */
function addressesIn(value: WireValue): string[] | null {
  if (isWireArray(value)) return value.length === 0 ? null : value.map(parseAddress);
  if (typeof value !== 'string') return null;
  let list: WireValue;
  try {
    list = parseWire(value);
  } catch {
    list = null;
  }
  if (!isWireArray(list)) throw new RpcError('invalidParameter', 'Error parsing JSON: addresses must be a JSON array');
  return list.map(parseAddress);
}

function guidView(dialect: Dialect, guid: bigint): Reply {
  return dialect === 'syscoin-4.2' ? String(guid) : new WireNumber(String(guid));
}

function nativeName(dialect: Dialect): string {
  return dialect === 'syscoin-4.2' ? 'sys_amount' : 'svc_amount';
}
