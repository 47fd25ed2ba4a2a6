import { type ContentName, type NamedHash, parseTxId, parseVersionHash } from '../../core/blob/ids.ts';
import { type ArchiveView, type Asking, type ContentRecord, ROOM_IS_MADE } from '../../view/archive-view.ts';
import type { ChainView, MinedOccurrence, WindowEntry } from '../../view/chain-view.ts';
import { dropGiven, wholeOf } from '../given-body.ts';
import type { ReplyPart } from './reply-body.ts';
import { RpcError, rpcFault } from './rpc-error.ts';
import type { RpcParams } from './rpc-params.ts';

/** Releases differ in the shapes of these two answers. */
export const FACADE_DIALECTS = ['svc', 'syscoin-4.4', 'syscoin-5'] as const;
export type FacadeDialect = (typeof FACADE_DIALECTS)[number];

export interface BlobCallModules {
  readonly view: ArchiveView;
  readonly chain: ChainView;
  readonly dialect: FacadeDialect;
  /** The call's `hold` waits for memory. @throws RpcError -32603 */
  readonly asking: Asking;
}

/** One request's share of blob bytes; several calls of a batch take from it. */
export interface DataAllowance {
  bytesLeft: number;
}

interface KnownBlob {
  readonly name: ContentName;
  readonly record: ContentRecord;
  /** The newest on our branch; null: unconfirmed. */
  readonly newest: MinedOccurrence | null;
  /** In which block it is shown: an older transaction shows its own block with the newest txid (recorded). */
  readonly place: MinedOccurrence | null;
}

/** `getnevmblobdata`, with infinite retention. @throws RpcError -32602 only where absence is proved */
export async function getBlob(
  { view, chain, dialect, asking }: BlobCallModules,
  params: RpcParams,
  allowance: DataAllowance,
): Promise<readonly ReplyPart[]> {
  const asked = params.hash('versionhash_or_txid', 'parameter 1');
  const blob = await findBlob(view, chain, asked, asking.signal);
  const info = JSON.stringify(infoOf(blob, dialect));
  if (!params.flag('getdata')) return [info];
  allowance.bytesLeft -= blob.record.sizeBytes;
  if (allowance.bytesLeft < 0) throw rpcFault('The answer would be too large; ask for fewer blobs at a time', 1);
  return [`${info.slice(0, -1)},"data":"`, await dataOf(view, blob.name, asking), '"}'];
}

/** `listnevmblobdata`: what is held of the current window. */
export async function listBlobs(
  { view, chain, dialect, asking }: BlobCallModules,
  params: RpcParams,
  allowance: DataAllowance,
): Promise<readonly ReplyPart[]> {
  const window = chain.window();
  if (window.kind === 'unavailable') throw rpcFault(window.message, window.retryAfterSeconds);
  if (dialect === 'syscoin-5' && params.option('options', 'stats'))
    return [JSON.stringify([statistics(window.entries)])];
  // The node reads them so: none means ten, and a negative number is a very large one (recorded).
  const count = params.integer('count') === 0 ? DEFAULT_COUNT : params.integer('count') >>> 0;
  const from = params.integer('from') >>> 0;
  const page = window.entries.slice(from, from + count);
  const withData = dialect !== 'syscoin-5' && params.option('options', 'getdata');
  if (!withData) return [JSON.stringify(page.map((entry) => listed(entry, dialect)))];
  const dataBytes = page.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  allowance.bytesLeft -= dataBytes;
  if (allowance.bytesLeft < 0) throw rpcFault('The answer would be too large; ask for a smaller page', 1);
  const parts: ReplyPart[] = [];
  for (const entry of page) {
    const data = await dataOf(view, entry, asking);
    const info = JSON.stringify(listed(entry, dialect)).slice(0, -1);
    parts.push(`${parts.length === 0 ? '' : ','}${info},"data":"`, data, '"}');
  }
  return ['[', ...parts, ']'];
}

const DEFAULT_COUNT = 10;

async function findBlob(view: ArchiveView, chain: ChainView, asked: string, signal: AbortSignal): Promise<KnownBlob> {
  const mined = chain.transaction(parseTxId(asked));
  const named: NamedHash =
    mined.kind === 'found' ? mined.occurrence : { versionHash: parseVersionHash(asked), hashType: null };
  const lookup = await view.record(named, signal);
  if (lookup.kind === 'withheld') throw withheld(lookup.publicReason);
  if (lookup.kind === 'found' && lookup.record.state === 'withheld') throw withheld(lookup.record.publicReason);
  if (lookup.kind === 'not-archived-by-rule') throw leftOut(lookup.rule);
  if (lookup.kind === 'found' && lookup.record.rule !== null) throw leftOut(lookup.record.rule);
  if (lookup.kind === 'lost') throw absent(asked);
  if (lookup.kind === 'unavailable') throw rpcFault(lookup.message, lookup.retryAfterSeconds);
  // While the walk is behind, what was asked for can also be a transaction that it has not come to.
  if (lookup.kind === 'absent' && mined.kind === 'unavailable') throw rpcFault(mined.message, mined.retryAfterSeconds);
  if (lookup.kind === 'absent' && mined.kind === 'absent') {
    const listed = await chain.transactionAsked(parseTxId(asked), true, signal);
    if (listed.kind === 'absent') throw absent(asked);
    if (listed.kind === 'unavailable') throw rpcFault(listed.message, listed.retryAfterSeconds);
    throw rpcFault('It was walked a moment ago; ask again', 1);
  }
  if (lookup.kind === 'absent') throw rpcFault('The chain names a blob that the archive does not know');
  const { record } = lookup;
  const { hashType, versionHash } = record;
  if (hashType === null || record.state === 'seen') {
    const given = await view.reader.open(named, { ...ROOM_IS_MADE, signal });
    if (given.kind === 'memory' || given.kind === 'file') dropGiven(given);
    throw given.kind === 'lost' ? absent(asked) : rpcFault('Its bytes are not here yet', 5);
  }
  const name = { hashType, versionHash };
  const newest = chain.newestOccurrence(name);
  if (newest.kind === 'unavailable') throw rpcFault(newest.message, newest.retryAfterSeconds);
  const last = newest.kind === 'found' ? newest.newest : null;
  return { name, record, newest: last, place: mined.kind === 'found' ? mined.occurrence : last };
}

/** In memory that is held for it, or that it is lent. */
async function dataOf({ reader }: ArchiveView, name: ContentName, asking: Asking): Promise<ReplyPart> {
  let heldBytes = 0;
  const hold = async (bytes: number) => {
    await asking.hold(bytes);
    heldBytes += bytes;
  };
  const given = await reader.open(name, { ...asking, hold });
  switch (given.kind) {
    case 'memory':
      return { hexOf: given.blob.bytes, isLent: given.isLent };
    case 'file':
      return { hexOf: await wholeOf(given.file, () => hold(Math.max(0, given.file.sizeBytes - heldBytes))) };
    case 'withheld':
      throw withheld(given.publicReason);
    case 'not-archived-by-rule':
      throw leftOut(given.rule);
    case 'lost':
      throw absent(name.versionHash);
    case 'unavailable':
      throw rpcFault(given.message, given.retryAfterSeconds);
    case 'absent':
      // Known a moment ago: "absent" would be a contradiction, not a proof.
      throw rpcFault('The bytes cannot be found now');
    default:
      return given satisfies never;
  }
}

/** -32603 and not -32602, which would say that it never was. */
const WITHHELD_RETRY_SECONDS = 3_600;

function withheld(publicReason: string | null): RpcError {
  const why = publicReason === null ? '' : `: ${publicReason}`;
  return rpcFault(`The operator withholds the blob${why}`, WITHHELD_RETRY_SECONDS);
}

function leftOut(rule: string): RpcError {
  return rpcFault(`A rule of the operator leaves the blob out: ${rule}`, WITHHELD_RETRY_SECONDS);
}

function absent(asked: string): RpcError {
  return new RpcError('invalidParams', `Could not find blob information for versionhash ${asked}`);
}

/** Members in the order of the node's. What is not known is left out. */
function infoOf({ record, newest, place }: KnownBlob, dialect: FacadeDialect): object {
  const { versionHash: versionhash, sizeBytes: datasize } = record;
  const time = newest?.medianTimeSeconds ?? record.medianTimeSeconds ?? undefined;
  const txid = newest?.txid ?? record.listedTxid ?? undefined;
  const mined = place === null ? {} : { blockhash: place.blockHash, height: place.height };
  switch (dialect) {
    case 'svc':
      return { versionhash, datasize };
    case 'syscoin-4.4':
      return { versionhash, mpt: time, datasize, ...mined };
    case 'syscoin-5':
      return {
        versionhash,
        mtp: time,
        datasize,
        txid,
        ...mined,
        ...(place === null ? {} : { chainlock: place.chainLocked }),
      };
    default:
      return dialect satisfies never;
  }
}

function listed(
  { versionHash: versionhash, sizeBytes: datasize, medianTimeSeconds, txid }: WindowEntry,
  dialect: FacadeDialect,
) {
  switch (dialect) {
    case 'svc':
      return { versionhash, datasize };
    case 'syscoin-4.4':
      return { versionhash, mpt: medianTimeSeconds, datasize };
    case 'syscoin-5':
      return { versionhash, mtp: medianTimeSeconds, datasize, txid: txid ?? undefined };
    default:
      return dialect satisfies never;
  }
}

function statistics(entries: readonly WindowEntry[]) {
  const times = entries.map(({ medianTimeSeconds }) => medianTimeSeconds);
  return {
    total_blobs: entries.length,
    total_size: entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    oldest_mpt: times.reduce((least, time) => Math.min(least, time), times[0] ?? 0),
    newest_mpt: times.reduce((most, time) => Math.max(most, time), 0),
  };
}
