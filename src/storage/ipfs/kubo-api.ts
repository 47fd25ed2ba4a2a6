import type { KuboRPCClient } from 'kubo-rpc-client';
import { CID } from 'multiformats/cid';
import { EnvHttpProxyAgent, setGlobalDispatcher } from 'undici';
import { z } from 'zod';
import type { HashType } from '../../core/blob/ids.ts';
import { proxyIsNamed } from '../proxy-environment.ts';
import { remoteCall, remoteFault } from '../remote-call.ts';
import { GatheredQuestion } from './gathered-question.ts';
import { type IpfsOptions, kuboEndpoint } from './ipfs-options.ts';
import { explainKubo, NotKuboAnswer, saysAbsent, saysDamaged, saysNotPinned } from './kubo-error.ts';
import { KuboStream } from './kubo-stream.ts';

const MULTIHASH_NAMES: Readonly<Record<HashType, string>> = { keccak256: 'keccak-256', blake2s256: 'blake2s-256' };
const NOTHING = new Uint8Array();

const MAX_STAT_BYTES = 4_096;
/** Some 70 characters each, in the address of one request. */
const CIDS_AT_ONCE = 64;
const putAnswer = z.object({ Key: z.string() });
const statAnswer = z.object({ Size: z.int() });
const pinLine = z.object({ Cid: z.string() });
const versionAnswer = z.object({ version: z.string() });
const diskAnswer = z.object({ diskinfo: z.object({ free_space: z.number() }) });

/** Blocks and pins of one Kubo, with errors that say what to do. */
export class KuboApi {
  readonly id: string;
  /** For messages: never has credentials. */
  readonly where: string;
  readonly #options: IpfsOptions;
  readonly #client: KuboRPCClient;
  readonly #stream: KuboStream;
  readonly #pinned = new GatheredQuestion((cids: readonly CID[]) => this.#arePinned(cids), CIDS_AT_ONCE);
  readonly #closing = new AbortController();

  private constructor(options: IpfsOptions, where: string, client: KuboRPCClient, stream: KuboStream) {
    this.id = options.id;
    this.where = where;
    this.#options = options;
    this.#client = client;
    this.#stream = stream;
  }

  static async open(options: IpfsOptions): Promise<KuboApi> {
    const { create } = await import('kubo-rpc-client');
    const endpoint = kuboEndpoint(options);
    // kubo-rpc-client asks through Node's own fetch, which knows of a proxy only by the dispatcher of the whole process.
    if (proxyIsNamed(endpoint.base)) setGlobalDispatcher(new EnvHttpProxyAgent());
    const client = create({ url: endpoint.base, headers: endpoint.headers });
    return new KuboApi(options, endpoint.base.origin, client, new KuboStream(endpoint, options));
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
    await this.#call('pin', signal, (inner) => this.#client.pin.add(cid, { signal: inner }));
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

  /** What is not pinned is collected one day. */
  async isPinned(cid: CID, signal: AbortSignal): Promise<boolean> {
    return await this.#pinned.ask(cid, signal);
  }

  /** Kubo refuses the whole question when one of several is not pinned: then each is asked by itself. */
  async #arePinned(cids: readonly CID[]): Promise<readonly boolean[]> {
    const asked = await this.#pinnedAmong(cids);
    if (asked !== null) return cids.map((cid) => asked.has(cid.toString()));
    if (cids.length === 1) return [false];
    return await Promise.all(cids.map(async (cid) => (await this.#pinnedAmong([cid]))?.has(cid.toString()) ?? false));
  }

  /** null: at least one of them is not. */
  async #pinnedAmong(cids: readonly CID[]): Promise<ReadonlySet<string> | null> {
    return await this.#call('stat', this.#closing.signal, async (inner) => {
      try {
        const pinned = new Set<string>();
        const query = new URLSearchParams([
          ['type', 'recursive'],
          ['stream', 'true'],
        ]);
        for (const cid of cids) query.append('arg', cid.toString());
        for await (const line of this.#stream.lines('pin/ls', query, inner)) pinned.add(pinOf(line).toString());
        return pinned;
      } catch (cause) {
        if (saysNotPinned(cause)) return null;
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
        await this.#client.pin.rm(cid, { signal: inner });
      } catch (cause) {
        if (!saysNotPinned(cause)) throw cause;
      }
      for await (const { error } of this.#client.block.rm(cid, { force: true, signal: inner })) {
        if (error !== undefined && error !== null) throw error;
      }
    });
  }

  async version(signal: AbortSignal): Promise<string> {
    return await this.#call('probe', signal, async (inner) => {
      const answer = versionAnswer.safeParse(await this.#client.version({ signal: inner }));
      if (!answer.success) throw new NotKuboAnswer('an answer without a version');
      return answer.data.version;
    });
  }

  async freeDiskBytes(signal: AbortSignal): Promise<number> {
    return await this.#call('probe', signal, async (inner) => {
      const answer = diskAnswer.safeParse(await this.#client.diag.sys({ signal: inner }));
      if (!answer.success) throw new NotKuboAnswer('an answer without the free space');
      return answer.data.diskinfo.free_space;
    });
  }

  /** How Kubo keeps its blocks, as its configuration says. */
  async datastoreSpec(signal: AbortSignal): Promise<unknown> {
    return await this.#call('probe', signal, (inner) => this.#client.config.get('Datastore.Spec', { signal: inner }));
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
