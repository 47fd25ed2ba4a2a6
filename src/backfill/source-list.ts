import type { Catalog } from '../catalog/catalog.ts';
import type { NodeGroup } from '../chain/node-group.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Verifier } from '../verify/verified-blob.ts';
import type { BackfillEvent } from './backfill-report.ts';
import { ConfiguredNodesSource } from './configured-nodes-source.ts';
import { DEFAULT_SOURCES } from './parameters.ts';
import type { BackfillSource } from './source/backfill-source.ts';
import { VerifiedSource } from './verified-source.ts';

/** Opens what `--source` names; null: the nodes of the archive itself. */
export type OpenSource = (text: string) => Promise<BackfillSource | null>;

/** Opens the sources of a run, whose bytes are verified. */
export class SourceList {
  readonly #nodes: NodeGroup;
  readonly #poller: Poller;
  readonly #catalog: Catalog;
  readonly #verifier: Verifier;
  readonly #clock: Clock;

  constructor(nodes: NodeGroup, poller: Poller, catalog: Catalog, verifier: Verifier, clock: Clock) {
    this.#nodes = nodes;
    this.#poller = poller;
    this.#catalog = catalog;
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /** Rejects when one cannot be opened; none is open then. The caller closes them. */
  async open(
    named: readonly string[],
    openSource: OpenSource,
    report: (event: BackfillEvent) => void,
  ): Promise<readonly VerifiedSource[]> {
    const sources: VerifiedSource[] = [];
    try {
      for (const text of named.length === 0 ? DEFAULT_SOURCES : named) {
        const source = (await openSource(text)) ?? this.#ownNodes();
        sources.push(new VerifiedSource(source, this.#verifier, report, this.#clock));
      }
      return sources;
    } catch (error) {
      await Promise.all(sources.map((source) => source.close()));
      throw error;
    }
  }

  #ownNodes(): BackfillSource {
    return new ConfiguredNodesSource(this.#nodes, this.#poller, this.#catalog, this.#clock);
  }
}
