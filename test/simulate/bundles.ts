import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { carParts } from '../../src/bundle/car-parts.ts';
import { checkBundle } from '../../src/bundle/check-bundle.ts';
import type { ContentName } from '../../src/core/blob/ids.ts';
import { giveBackMemory } from '../../src/core/blob/lent-memory.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import type { Life } from './archiver.ts';
import type { Moment } from './commands.ts';
import type { SeededRandom } from './random.ts';
import { blobPath } from './simulated-store.ts';
import type { Simulation } from './simulation.ts';

const exported = z.object({
  exitCode: z.number(),
  file: z.string(),
  blobs: z.number(),
  from: z.number(),
  to: z.number(),
  counts: z.record(z.string(), z.number()),
});
const imported = z.object({ exitCode: z.number(), taken: z.number() });

/** A bundle that stands under its own name. */
interface Bundle {
  readonly path: string;
  readonly names: readonly ContentName[];
  /** The simulation changed some of its bytes. */
  isRotten: boolean;
}

/** Bundles that the archiver exports into a folder beside its own, which outlives it, and imports from there again. */
export class Bundles {
  readonly folder: string;
  readonly #simulation: Simulation;
  readonly #hasher: BlobHasher;
  readonly #bundles: Bundle[] = [];
  /** The heights of an export that has not ended well: it is asked for again, and goes on where its file ends. */
  #begun: { readonly fromHeight: number; readonly toHeight: number } | null = null;
  #importing: Bundle | null = null;

  constructor(simulation: Simulation, root: string, hasher: BlobHasher) {
    this.#simulation = simulation;
    this.#hasher = hasher;
    this.folder = join(root, 'bundles');
    mkdirSync(this.folder);
  }

  exportParameters({ archive, catalog }: Life): object {
    const toHeight = archive.finalHeight(false);
    const fromHeight = catalog.chain.state.lowestHeight ?? null;
    if (this.#begun === null && toHeight !== null && fromHeight !== null && fromHeight <= toHeight) {
      this.#begun = { fromHeight, toHeight };
    }
    return { folder: this.folder, ...this.#begun };
  }

  /** Reports whether no export has ended well yet. */
  get isEmpty(): boolean {
    return this.#bundles.length === 0;
  }

  /** null: there is no bundle. */
  importParameters(random: SeededRandom): object | null {
    this.#importing = this.isEmpty ? null : random.pick(this.#bundles);
    return this.#importing === null ? null : { sources: [this.#importing.path] };
  }

  rot(random: SeededRandom): void {
    if (this.isEmpty) return;
    const bundle = random.pick(this.#bundles);
    const bytes = readFileSync(bundle.path);
    const at = random.between(0, bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(bundle.path, bytes);
    bundle.isRotten = true;
  }

  /** The heights of the next export are others. */
  giveUp(): void {
    this.#begun = null;
  }

  /** A bundle under its own name is whole, counts as many occurrences as there are, and has no blob that is withheld. */
  async compareExport(before: Moment, after: Moment, outcome: object): Promise<void> {
    this.#begun = null;
    const { truth, life } = this.#simulation;
    const { exitCode, file, blobs, from, to, counts } = exported.parse(outcome);
    const bytes = readFileSync(file);
    const found = await checkBundle(file, once(bytes), this.#hasher);
    if (found.wrongCount > 0) this.#fail(`${file} was exported, and ${found.wrong[0]?.path}: ${found.wrong[0]?.why}`);
    const names = await this.#namesIn(file, bytes);
    if (names.length !== blobs) this.#fail(`${names.length} blobs are in ${file}, and ${blobs} were told`);
    for (const { versionHash } of names) {
      if (before.withheld.has(versionHash) && after.withheld.has(versionHash)) {
        this.#fail(`${versionHash} is withheld, and is in ${file}`);
      }
    }
    this.#bundles.push({ path: file, names, isRotten: false });
    const isOnMain = life !== null && this.#simulation.isOnMain(life);
    if (before.reorganisations !== after.reorganisations || !isOnMain) return;
    const occurrences = truth.occurrences(from, to);
    const told = Object.values(counts).reduce((sum, count) => sum + count, 0);
    if (told !== occurrences.length) {
      this.#fail(`${told} occurrences of ${from} to ${to} are told of ${file}, and there are ${occurrences.length}`);
    }
    if (exitCode !== 0) return;
    const inside = new Set(names.map(({ versionHash }) => versionHash));
    const left = occurrences.find(({ versionHash }) => !inside.has(versionHash) && !truth.touched.has(versionHash));
    if (left !== undefined) this.#fail(`an export of ${from} to ${to} ended with 0, and lacks ${blobPath(left)}`);
  }

  /** Blobs that an import gave back are stored, and no blob that is withheld came back. */
  compareImport(before: Moment, after: Moment, outcome: object): void {
    const { truth, configured } = this.#simulation;
    const bundle = this.#importing;
    const { exitCode, taken } = imported.parse(outcome);
    if (bundle === null) return;
    if (taken > bundle.names.length) this.#fail(`${taken} blobs were taken from ${bundle.path}`);
    for (const name of bundle.names) {
      const path = blobPath(name);
      const { versionHash } = name;
      const isWithheld = before.withheld.has(versionHash) && after.withheld.has(versionHash);
      const isNew = ![...before.good.values()].some((copy) => copy.name.versionHash === versionHash);
      if (isWithheld && isNew && [...after.good.values()].some((copy) => copy.name.versionHash === versionHash)) {
        this.#fail(`${path} is withheld, and came back with ${bundle.path}`);
      }
      // An import leaves what is held already to the repair that goes on.
      const isHeldShort = !isNew && !before.stored.has(versionHash);
      const isHarmed = configured.some((store) => (store.harmed.get(path) ?? 0) >= before.atMs);
      if (exitCode !== 0 || bundle.isRotten || isHarmed || isHeldShort || truth.harmedFiles.has(versionHash)) continue;
      if (truth.touched.has(versionHash) || after.stored.has(versionHash)) continue;
      this.#fail(`an import of ${bundle.path} ended with 0, and ${path} is not stored`);
    }
  }

  async #namesIn(file: string, bytes: Uint8Array): Promise<ContentName[]> {
    const names: ContentName[] = [];
    for await (const part of carParts(file, once(bytes))) {
      if (part.kind !== 'named') continue;
      names.push(part.name);
      if (!this.#simulation.truth.isTrue(part.name, part.bytes)) {
        this.#fail(`${blobPath(part.name)} in ${file} has other bytes`);
      }
      giveBackMemory(part.bytes);
    }
    return names;
  }

  #fail(message: string): void {
    this.#simulation.fail('bundle', message);
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(bytes);
}
