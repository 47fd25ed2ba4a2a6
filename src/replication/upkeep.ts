import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { CatalogRebuild } from './catalog-rebuild.ts';
import { blobScrub } from './checked-blobs.ts';
import type { AdoptedCustom } from './custom/adopt-custom.ts';
import type { CustomUpkeep } from './custom/custom-upkeep.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { Adopted } from './reindex.ts';
import type { Replication } from './replication.ts';
import { type BackendFindings, type CheckProgress, nothingFound, type Scrub, type Subset } from './scrub.ts';

export type { Subset } from './scrub.ts';

export interface UpkeepModules {
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly damage: DamageWatch;
  readonly catalogRebuild: CatalogRebuild;
  readonly replication: Replication;
  readonly custom: CustomUpkeep;
  /** The archiver whose evidence is checked on the backends. */
  readonly archiverId?: string;
}

export interface CheckOptions {
  /** null: only the listings are compared. */
  readonly subset: Subset | null;
  /** null: all of them. */
  readonly backend: string | null;
  readonly repair: boolean;
}

/** A copy that a place is to hold and has not got, or not whole. */
export interface MissingCopy {
  readonly backend: string;
  /** `custom`: bytes of a custom commitment. */
  readonly hashType: string;
  readonly versionHash: string;
  /** For custom bytes: the other half of their name. */
  readonly keccak?: string;
  /** Whether there are good copies elsewhere, from which `--repair` can bring it back. */
  readonly elsewhere: boolean;
}

export interface CheckReport {
  readonly backends: readonly BackendFindings[];
  /** The same of custom commitments, which have a name space of their own in places with names. */
  readonly custom: readonly BackendFindings[];
  /** Still missing or damaged at the end; of very many, the first. */
  readonly left: readonly MissingCopy[];
  readonly leftCount: number;
  /** Found by this check, and good again at its end; of very many, the first. */
  readonly repairedMeanwhile: readonly Omit<MissingCopy, 'elsewhere'>[];
  /** The same under its earlier name, until the release after 0.1. */
  readonly mended: readonly Omit<MissingCopy, 'elsewhere'>[];
  /** Copies brought back meanwhile: by `--repair`, or by the archive that runs beside the check and repairs what it finds. */
  readonly repaired: number;
  /** Blobs that wait for their first copy there. */
  readonly waiting: Readonly<Record<string, number>>;
  /** Places that could not be asked, or not to the end: nothing is known of their copies. */
  readonly notAsked: readonly string[];
  /** null: every place was asked. Else how many blobs have fewer good copies than required, without those places. */
  readonly short: ShortBlobs | null;
}

export interface RebuildProgress {
  readonly message: string;
  /** The place of which it counts blobs; null: the message is all. */
  readonly place: string | null;
  readonly done: number | null;
}

export interface ShortBlobs {
  readonly required: number;
  readonly blobs: number;
}

export interface RebuildReport {
  readonly folder: number;
  readonly backends: Readonly<Record<string, Adopted>>;
  /** Custom commitments, by place. */
  readonly custom: Readonly<Record<string, AdoptedCustom>>;
  /** Backends that could not be asked, or not to the end. */
  readonly faults: Readonly<Record<string, string>>;
}

interface FoundCopy {
  readonly backend: string;
  readonly entry: ContentEntry;
}

const MAX_LISTED = 1_000;
const COUNTED_TOGETHER = 10_000;
/** Copies that this check found missing or damaged. */
export function countFound(backends: readonly Pick<BackendFindings, 'missing' | 'damaged'>[]): number {
  return backends.reduce((sum, { missing, damaged }) => sum + missing + damaged, 0);
}

/** The maintenance of an archive, whether it runs or not: check, repair, rebuild. */
export class Upkeep {
  readonly #modules: UpkeepModules;

  constructor(modules: UpkeepModules) {
    this.#modules = modules;
  }

  get places(): string[] {
    const { custom, replication } = this.#modules;
    return [...new Set([...replication.holdings(), ...custom.places.all].map(({ id }) => id))];
  }

  async check(
    options: CheckOptions,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<CheckReport> {
    const { replication, catalog, custom } = this.#modules;
    const unreachable = await replication.admit(signal);
    const isChosen = ({ id }: { readonly id: string }) => options.backend === null || options.backend === id;
    const chosen = replication.holdings().filter(isChosen);
    const found: FoundCopy[] = [];
    const modules = {
      ...this.#modules,
      found: (backend: string, entry: ContentEntry) => {
        if (found.length < MAX_LISTED) found.push({ backend, entry });
      },
    };
    const checkEach = async (scrubs: readonly Pick<Scrub<never>, 'backend' | 'check'>[]) => {
      const findings: BackendFindings[] = [];
      for (const scrub of scrubs) {
        const fault = unreachable.get(scrub.backend);
        const isAsked = fault === undefined;
        findings.push(
          isAsked ? await scrub.check(options.subset, progress, signal) : nothingFound(scrub.backend, fault),
        );
      }
      return findings;
    };
    const blobs = chosen.map(({ id }) => id);
    const blobsBefore = this.#countLeft({ blobs, custom: [] });
    const findings = await checkEach(chosen.map((holding) => blobScrub(holding, modules)));
    const customFindings = await checkEach(custom.scrubs(isChosen));
    const asked = { blobs, custom: customFindings.map(({ backend }) => backend) };
    const before = blobsBefore + countFound(findings) + this.#countLeft({ ...asked, blobs: [] });
    if (options.repair) await this.#repair(findings, signal);
    const customAfter = options.repair ? await custom.repair(customFindings, signal) : customFindings;
    const repairedMeanwhile = this.#repairedMeanwhile(found);
    const leftCount = this.#countLeft(asked);
    const notAsked = [...findings, ...customAfter].flatMap(({ backend, fault }) => (fault === null ? [] : [backend]));
    return {
      notAsked: [...new Set(notAsked)],
      short: notAsked.length === 0 ? null : await this.#countShort(notAsked, signal),
      backends: findings,
      custom: customAfter,
      left: this.#left(asked),
      leftCount,
      repairedMeanwhile,
      mended: repairedMeanwhile,
      repaired: Math.max(0, before - leftCount),
      waiting: Object.fromEntries(
        [...new Set([...asked.blobs, ...asked.custom])].map((id) => [
          id,
          (asked.blobs.includes(id) ? catalog.replicas.queued(id) - catalog.replicas.damagedCount(id) : 0) +
            (asked.custom.includes(id) ? catalog.custom.waitingCount(id) : 0),
        ]),
      ),
    };
  }

  /** Lets the backends in. Gives why some could not be asked. */
  admit(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    return this.#modules.replication.admit(signal);
  }

  /** Brings to every backend what waits for it. Gives why some could not be asked. */
  async fill(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { replication } = this.#modules;
    const faults = await replication.admit(signal);
    await replication.drain(
      replication.sites.map(({ id }) => id).filter((id) => !faults.has(id)),
      signal,
    );
    return faults;
  }

  /** Makes the catalog again from the data folder and the backends, or one of them. */
  rebuild(from: string | null, progress: (told: RebuildProgress) => void, signal: AbortSignal): Promise<RebuildReport> {
    return this.#modules.catalogRebuild.whileRebuilding(() => this.#rebuild(from, progress, signal));
  }

  async #rebuild(
    from: string | null,
    progress: (told: RebuildProgress) => void,
    signal: AbortSignal,
  ): Promise<RebuildReport> {
    const { catalogRebuild, replication, catalog, store } = this.#modules;
    const tell = (message: string) => progress({ message, place: null, done: null });
    const count = (place: string, done: number) => progress({ message: `${place}: ${done} blobs`, place, done });
    if (catalog.setAside !== null) tell(`catalog: it was damaged; that file is ${catalog.setAside} now`);
    const custom = { ...(await catalogRebuild.readFolder(signal)) };
    if (store.damagedRows !== null) {
      const taken = await replication.folder.rowSalvage.salvage(signal);
      tell(`${store.id}: ${taken ?? 0} rows of a damaged file of small blobs were taken over`);
      await catalogRebuild.readFolder(signal);
    }
    const { spooled, stored } = catalog.totals();
    count(store.id, spooled + stored);
    const faults: Record<string, string> = Object.fromEntries(await replication.admit(signal));
    if (catalogRebuild.folderFault !== null) faults[store.id] = catalogRebuild.folderFault;
    const backends: Record<string, Adopted> = {};
    for (const site of replication.sites) {
      if ((from !== null && from !== site.id) || site.id in faults) continue;
      const told = ({ adopted }: Adopted) => count(site.id, adopted);
      const one = catalogRebuild.reindexOf(site, told);
      try {
        backends[site.id] = await one.blobs(signal);
        Object.assign(custom, await one.others(signal));
        if (one.unread.size > 0) faults[site.id] = `${one.unread.size} of its blobs could not be read.`;
        else if (one.customFault !== null) faults[site.id] = one.customFault;
      } catch (error) {
        signal.throwIfAborted();
        faults[site.id] = error instanceof Error ? error.message : String(error);
      }
    }
    // With one left out, or one away, there may be more: the daemon goes on with it.
    if (from === null && Object.keys(faults).length === 0) catalog.recordRebuilt();
    return { folder: spooled + stored, backends, custom, faults };
  }

  async #repair(findings: BackendFindings[], signal: AbortSignal): Promise<void> {
    const { replication, catalog, catalogRebuild } = this.#modules;
    for (const site of replication.sites) {
      const at = findings.findIndex(({ backend }) => backend === site.id);
      const found = findings[at];
      if (found === undefined || found.fault !== null || found.unknown === 0) continue;
      const { unread } = await catalogRebuild.reindexOf(site).blobs(signal);
      if (unread > 0) findings[at] = { ...found, fault: `${unread} of its blobs could not be read.` };
    }
    await replication.folder.rowSalvage.salvage(signal);
    catalog.replicas.tryAgainNow();
    await replication.folder.mender.mendDue(signal);
    const usable = findings.filter(({ fault }) => fault === null).map(({ backend }) => backend);
    await replication.drain(usable, signal);
    // A blob that one backend did not have may have come to another meanwhile.
    await replication.folder.mender.mendDue(signal);
  }

  /** A part at a time, between which whatever else this process does has its turn. */
  async #countShort(without: readonly string[], signal: AbortSignal): Promise<ShortBlobs> {
    const { replicas } = this.#modules.catalog;
    const last = replicas.lastSequence();
    let blobs = 0;
    for (let after = 0; after < last; after += COUNTED_TOGETHER) {
      signal.throwIfAborted();
      blobs += replicas.shortCount(without, after, after + COUNTED_TOGETHER);
      await turn();
    }
    return { required: replicas.required, blobs };
  }

  #countLeft({ blobs, custom }: AskedPlaces): number {
    const { catalog } = this.#modules;
    const counts = [
      ...blobs.map((id) => catalog.replicas.damagedCount(id)),
      ...custom.map((id) => catalog.custom.damagedCount(id)),
    ];
    return counts.reduce((sum, count) => sum + count, 0);
  }

  #repairedMeanwhile(found: readonly FoundCopy[]): CheckReport['repairedMeanwhile'] {
    const { catalog } = this.#modules;
    return found.flatMap(({ backend, entry }) => {
      const now = catalog.placementsOf(entry).find((one) => one.backend === backend);
      const { hashType, versionHash } = entry;
      return now?.state === 'good' ? [{ backend, hashType, versionHash }] : [];
    });
  }

  #left({ blobs, custom }: AskedPlaces): MissingCopy[] {
    const { catalog } = this.#modules;
    const ofBlobs = blobs.flatMap((backend) =>
      catalog.replicas.damaged(backend, MAX_LISTED).map(({ hashType, versionHash, state }) => {
        return { backend, hashType, versionHash, elsewhere: state !== 'seen' };
      }),
    );
    const ofCustom = custom.flatMap((backend) =>
      catalog.custom.damaged(backend, MAX_LISTED).map((one) => ({ backend, hashType: 'custom', ...one })),
    );
    return [...ofBlobs, ...ofCustom];
  }
}

/** The places that are asked, by kind of object. */
interface AskedPlaces {
  readonly blobs: readonly string[];
  readonly custom: readonly string[];
}
