import { CID } from 'multiformats/cid';
import { z } from 'zod';
import type { HashType } from '../../core/blob/ids.ts';
import { remoteCall, remoteFault } from '../remote-call.ts';
import { GatheredQuestion } from './gathered-question.ts';
import { type IpfsOptions, kuboEndpoint } from './ipfs-options.ts';
import { explainKubo, KuboRefusal, NotKuboAnswer, saysAbsent, saysDamaged, saysNotPinned } from './kubo-error.ts';
import { KuboStream } from './kubo-stream.ts';

const MULTIHASH_NAMES: Readonly<Record<HashType, string>> = { keccak256: 'keccak-256', blake2s256: 'blake2s-256' };
const NOTHING = new Uint8Array();

const MAX_STAT_BYTES = 4_096;
/** Some 70 characters each, in the address of one request. */
const CIDS_AT_ONCE = 64;
const putAnswer = z.object({ Key: z.string() });
const statAnswer = z.object({ Size: z.int().nonnegative() });
const pinLine = z.object({ Cid: z.string() });
const removedLine = z.object({ Error: z.string().optional() });
const versionAnswer = z.object({ Version: z.string() });
const diskAnswer = z.object({ diskinfo: z.object({ free_space: z.number() }) });
const settingAnswer = z.object({ Value: z.unknown() });

/** Blocks and pins of one Kubo, with errors that say what to do. */
export class KuboApi {
  readonly id: string;
  /** For messages: never has credentials. */
  readonly where: string;
  readonly #options: IpfsOptions;
  readonly #stream: KuboStream;
  readonly #pinned = new GatheredQuestion((cids: readonly CID[]) => this.#arePinned(cids), CIDS_AT_ONCE);
  readonly #closing = new AbortController();

  constructor(options: IpfsOptions) {
    const endpoint = kuboEndpoint(options);
    this.id = options.id;
    this.where = endpoint.base.origin;
    this.#options = options;
    this.#stream = new KuboStream(endpoint, options);
  }

  async put(hashType: HashType, bytes: Uint8Array, pin: boolean, signal: AbortSignal): Promise<CID> {
    const mhtype = MULTIHASH_NAMES[hashType];
    return await this.#call('put', signal, async (inner) => {
      const answer = await this.#stream.send(
        'block/put',
        new URLSearchParams({ mhtype, pin: String(pin), 'cid-codec': 'raw' }),
        bytes,
        inner,
      );
      return CID.parse(putAnswer.parse(JSON.parse(new TextDecoder().decode(answer))).Key);
    });
  }

  async pin(cid: CID, signal: AbortSignal): Promise<void> {
    await this.#call('pin', signal, (inner) => this.#stream.json('pin/add', { arg: cid.toString() }, inner));
  }

  /** null: the local repository has not got it. What Kubo itself finds damaged comes as no bytes, and fails its hash. */
  async get(cid: CID, limitBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    return await this.#call('get', signal, async (inner) => {
      try {
        return await this.#stream.bytes(
          'block/get',
          new URLSearchParams({ arg: cid.toString(), offline: 'true' }),
          limitBytes,
          inner,
        );
      } catch (cause) {
        if (saysAbsent(cause)) return null;
        if (saysDamaged(cause)) return NOTHING;
        throw cause;
      }
    });
  }

  async size(cid: CID, signal: AbortSignal): Promise<number | null> {
    return await this.#call('stat', signal, async (inner) => {
      try {
        const query = new URLSearchParams({ arg: cid.toString(), offline: 'true' });
        const answer = await this.#stream.bytes('block/stat', query, MAX_STAT_BYTES, inner);
        return statAnswer.parse(JSON.parse(new TextDecoder().decode(answer))).Size;
      } catch (cause) {
        if (saysAbsent(cause)) return null;
        if (saysDamaged(cause)) return 0;
        throw cause;
      }
    });
  }

  /** Reports whether a block is pinned: Kubo's garbage collection deletes the others. */
  async isPinned(cid: CID, signal: AbortSignal): Promise<boolean> {
    return await this.#pinned.ask(cid, signal);
  }

  /** Kubo refuses the whole question when one of several is not pinned: then each is asked by itself. */
  async #arePinned(cids: readonly CID[]): Promise<readonly boolean[]> {
    if (await this.#areAllPinned(cids)) return cids.map(() => true);
    if (cids.length === 1) return [false];
    return await Promise.all(cids.map((cid) => this.#areAllPinned([cid])));
  }

  /** false: Kubo says that at least one of them is not. A listing that merely ends before it names them all says nothing. */
  async #areAllPinned(cids: readonly CID[]): Promise<boolean> {
    return await this.#call('stat', this.#closing.signal, async (inner) => {
      try {
        const pinned = new Set<string>();
        const query = new URLSearchParams([
          ['type', 'recursive'],
          ['stream', 'true'],
        ]);
        for (const cid of cids) query.append('arg', cid.toString());
        for await (const line of this.#stream.lines('pin/ls', query, inner)) pinned.add(pinOf(line).toString());
        if (cids.every((cid) => pinned.has(cid.toString()))) return true;
        throw new NotKuboAnswer('a listing of pins that leaves out one that was asked for');
      } catch (cause) {
        if (saysNotPinned(cause)) return false;
        throw cause;
      }
    });
  }

  async *pins(signal: AbortSignal): AsyncIterable<CID> {
    signal.throwIfAborted();
    const call = { backend: this.id, where: this.where, operation: 'list' };
    try {
      const query = new URLSearchParams({ type: 'recursive', stream: 'true' });
      for await (const line of this.#stream.lines('pin/ls', query, signal)) {
        signal.throwIfAborted();
        yield pinOf(line);
      }
    } catch (cause) {
      signal.throwIfAborted();
      throw remoteFault(call, explainKubo(cause), cause);
    }
  }

  async remove(cid: CID, signal: AbortSignal): Promise<void> {
    await this.#call('delete', signal, async (inner) => {
      try {
        await this.#stream.json('pin/rm', { arg: cid.toString() }, inner);
      } catch (cause) {
        if (!saysNotPinned(cause)) throw cause;
      }
      const query = new URLSearchParams({ arg: cid.toString(), force: 'true' });
      for await (const line of this.#stream.lines('block/rm', query, inner)) {
        const { Error: error = '' } = removedLine.parse(line);
        if (error !== '') throw new KuboRefusal(500, error);
      }
    });
  }

  async version(signal: AbortSignal): Promise<string> {
    return await this.#call('probe', signal, async (inner) => {
      return versionAnswer.parse(await this.#stream.json('version', {}, inner)).Version;
    });
  }

  async freeDiskBytes(signal: AbortSignal): Promise<number> {
    return await this.#call('probe', signal, async (inner) => {
      return diskAnswer.parse(await this.#stream.json('diag/sys', {}, inner)).diskinfo.free_space;
    });
  }

  /** Format in which Kubo keeps its blocks, from its configuration. */
  async datastoreSpec(signal: AbortSignal): Promise<unknown> {
    return await this.#call('probe', signal, async (inner) => {
      return settingAnswer.parse(await this.#stream.json('config', { arg: 'Datastore.Spec' }, inner)).Value;
    });
  }

  async isGateway(signal: AbortSignal): Promise<boolean> {
    return await this.#call('probe', signal, (inner) => this.#stream.isGateway(inner));
  }

  async close(): Promise<void> {
    this.#closing.abort(new DOMException('the store was closed', 'AbortError'));
    await this.#stream.close();
  }

  #call<T>(operation: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    return remoteCall({ backend: this.id, where: this.where, operation, signal, timeoutMs }, explainKubo, work);
  }
}

function pinOf(line: unknown): CID {
  const parsed = pinLine.safeParse(line);
  if (!parsed.success) throw new NotKuboAnswer('a line of the listing that names no CID');
  return CID.parse(parsed.data.Cid);
}
