import type { Catalog } from '../catalog/catalog.ts';
import type { Logger } from '../core/observability/logger.ts';

/** Maintains the catalog: trims what grows without end, then the file. */
export class CatalogMaintenance {
  readonly #catalog: Pick<Catalog, 'bounded' | 'maintain'>;
  readonly #log: Logger;

  constructor(catalog: Pick<Catalog, 'bounded' | 'maintain'>, log: Logger) {
    this.#catalog = catalog;
    this.#log = log;
  }

  run(): void {
    const rows = this.#catalog.bounded.enforce();
    if (Object.values(rows).some((count) => count > 0)) this.#log.info({ rows }, 'old rows left the catalog');
    this.#catalog.maintain();
  }
}
