import type { QueuedBlob } from '../catalog/seen-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { Poller } from '../ingest/poller.ts';
import type { BlobNode, ListedBlob } from '../node/blob-node.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import { otherChain } from './node-group.ts';

/** A blob of the queue, or recorded as lost. */
export type Suspect = ListedBlob & ContentName & Pick<QueuedBlob, 'medianTimeSeconds' | 'firstSeenMs'>;

/** A configured node, as one of the sources that must answer before a blob is lost. */
export class NodeSource {
  readonly #node: BlobNode;
  readonly #poller: { readonly state: Pick<Poller['state'], 'genesis'> };

  constructor(node: BlobNode, poller: { readonly state: Pick<Poller['state'], 'genesis'> }) {
    this.#node = node;
    this.#poller = poller;
  }

  get name(): string {
    return `node ${this.#node.name}`;
  }

  /** null: the node answers that it has not got the bytes. */
  async find(wanted: Suspect, signal: AbortSignal): Promise<UnverifiedBlob | null> {
    await this.#assertOurChain(signal);
    // The blob is fetched alone, like any failed one, so that no other blob can cause the failure.
    const [outcome] = await this.#node.fetchBlobs([{ ...wanted, attempts: (wanted.attempts ?? 0) + 1 }], signal);
    switch (outcome?.kind) {
      case 'bytes':
        return outcome.blob;
      case 'absent':
        return null;
      default:
        throw outcome?.error ?? new Error('The node answered nothing.');
    }
  }

  /** A node of another chain has no say about absence, whichever node it replaced. */
  async #assertOurChain(signal: AbortSignal): Promise<void> {
    const { genesis } = this.#poller.state;
    const theirs = await this.#node.genesisHash(signal);
    if (genesis !== null && theirs !== genesis) throw otherChain(this.#node.name, theirs, genesis);
  }
}
