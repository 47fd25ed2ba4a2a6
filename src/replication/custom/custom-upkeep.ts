import type { KeptCustom } from '../../catalog/custom-ledger.ts';
import { messageOf } from '../../core/blob/errors.ts';
import type { VersionHash } from '../../core/blob/ids.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import type { Clock } from '../../core/time/clock.ts';
import { StorageError } from '../../storage/errors.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import type { BackendHandle } from '../backend-handle.ts';
import { CopyWorker, type Move } from '../copy-worker.ts';
import type { BackendFindings, Scrub } from '../scrub.ts';
import { type AdoptedCustom, type AdoptingCustom, adoptCustom } from './adopt-custom.ts';
import { customScrub } from './checked-custom.ts';
import { CustomCopies } from './custom-copies.ts';
import type { CustomPlace } from './custom-place.ts';
import { CustomPlaces } from './custom-places.ts';

export interface CustomUpkeepModules extends AdoptingCustom {
  readonly store: ObjectStore;
  readonly sites: readonly BackendHandle[];
  readonly conditions: ConditionBoard;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** The maintenance of custom bytes, with or without a running archive: check, repair and reindex. */
export class CustomUpkeep {
  readonly places: CustomPlaces;
  readonly copies: CustomCopies;
  readonly worker: Pick<CopyWorker<CustomPlace, Move>, 'run' | 'deliverNow'>;
  readonly #modules: CustomUpkeepModules;

  constructor(modules: CustomUpkeepModules) {
    this.#modules = modules;
    const { catalog, hasher, store, sites, conditions } = modules;
    const places = new CustomPlaces(catalog, hasher, store, sites);
    this.places = places;
    this.copies = new CustomCopies(catalog, places, sites, conditions, modules.clock);
    this.worker = new CopyWorker(this.copies, catalog, conditions);
  }

  /** A check of each of these places. */
  scrubs(which: (place: CustomPlace) => boolean): Scrub<KeptCustom>[] {
    return this.places.all.filter(which).map((place) => customScrub(place, this.#modules.catalog));
  }

  /** Indexes what these places were found to hold besides, and repairs what can be repaired. Gives them, with what failed. */
  async repair(findings: readonly BackendFindings[], signal: AbortSignal): Promise<BackendFindings[]> {
    const after: BackendFindings[] = [];
    for (const found of findings) {
      let { fault } = found;
      const note = (_: string, why: string) => {
        fault = why;
      };
      if (fault === null && found.unknown > 0) await this.adopt(found.backend, null, signal, note);
      after.push({ ...found, fault });
    }
    await this.worker.deliverNow(signal);
    return after;
  }

  /**
   * Indexes what one place holds, or all of them (null); of one version hash, or of all (null). `fault` gets why some could
   * not be asked.
   */
  async adopt(
    from: string | null,
    versionHash: VersionHash | null,
    signal: AbortSignal,
    fault: (place: string, why: string) => void = () => {},
  ): Promise<Record<string, AdoptedCustom>> {
    const found: Record<string, AdoptedCustom> = {};
    for (const place of this.#chosen(from)) {
      try {
        const adopted = await adoptCustom(place, versionHash, this.#modules, signal);
        found[place.id] = adopted;
        // A listing of one hash says nothing about the others.
        if (versionHash === null) this.#tellRefused(place.id, adopted.refused);
        if (adopted.unread > 0) fault(place.id, `${adopted.unread} custom commitments there could not be read.`);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        fault(place.id, messageOf(error));
      }
    }
    return found;
  }

  #tellRefused(place: string, count: number): void {
    const refused = {
      code: 'archive/refused-custom',
      message: `${count} custom commitments in the ${place} store were not taken over: only dialect svc knows such.`,
      hint: 'They lie where they lay, and count for nothing. With a node of that dialect, set HOLDFAST_NODE_DIALECT to svc. Otherwise look who can write there.',
      blocksReadiness: false,
    };
    this.#modules.conditions.set(`refused-custom:${place}`, count === 0 ? null : refused);
  }

  #chosen(backend: string | null) {
    return this.places.all.filter(({ id }) => backend === null || backend === id);
  }
}
