import type { Catalog } from '../catalog/catalog.ts';
import type { NodeGroup } from '../chain/node-group.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { Clock } from '../core/time/clock.ts';
import { pause } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { BackfillSource, SourceAnswer, ToldSize } from './source/backfill-source.ts';

/** A question costs the node 60 ms under its main lock: for history it gets three times as long for everything else. */
const REST_FACTOR = 3;

/** Every configured node, as a source: asked one blob at a time, for it is a guest's question. */
export class ConfiguredNodesSource implements BackfillSource {
  readonly name: string;
  readonly #nodes: NodeGroup;
  readonly #poller: Pick<Poller, 'isListed' | 'isListCurrent'>;
  readonly #catalog: Pick<Catalog, 'findQueued'>;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    nodes: NodeGroup,
    poller: Pick<Poller, 'isListed' | 'isListCurrent'>,
    catalog: Pick<Catalog, 'findQueued'>,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.name = `node ${nodes.name}`;
    this.#nodes = nodes;
    this.#poller = poller;
    this.#catalog = catalog;
    this.#clock = clock;
  }

  find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    const turn = this.#turn.then(() => this.#find(name, signal));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Reads the size from the node's list. Of several nodes one alone is asked for its list. */
  async size({ versionHash }: ContentName): Promise<ToldSize> {
    const isAlone = this.#nodes.all.length === 1;
    if (!this.#poller.isListed(versionHash)) return this.#poller.isListCurrent() && isAlone ? null : 'untold';
    const wanted = this.#catalog.findQueued(versionHash);
    return wanted === null || wanted.sizeIsBound ? 'unknown' : wanted.sizeBytes;
  }

  async close(): Promise<void> {
    await this.#turn;
  }

  async #find({ hashType, versionHash }: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    signal.throwIfAborted();
    const wanted = this.#catalog.findQueued(versionHash);
    const asked = wanted ?? { versionHash, sizeBytes: MAX_BLOB_BYTES, medianTimeSeconds: null, txid: null };
    const begunMs = this.#clock.steadyMs();
    const attempts = (wanted?.attempts ?? 0) + 1;
    const [outcome] = await this.#nodes.followed.fetchBlobs([{ ...asked, versionHash, attempts }], signal);
    if (wanted === null) await pause((this.#clock.steadyMs() - begunMs) * REST_FACTOR, signal);
    switch (outcome?.kind) {
      case 'bytes':
        return { kind: 'bytes', candidates: [outcome.blob.bytes] };
      case 'absent':
        return { kind: 'absent' };
      default:
        throw outcome?.error ?? new Error(`The node gave no answer for ${hashType} ${versionHash}.`);
    }
  }
}
