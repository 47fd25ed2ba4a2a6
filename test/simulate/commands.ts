import { z } from 'zod';
import { messageOf } from '../../src/core/blob/errors.ts';
import type { ContentName, VersionHash } from '../../src/core/blob/ids.ts';
import type { Life } from './archiver.ts';
import type { Bundles } from './bundles.ts';
import { Claims, type GoodCopy } from './claims.ts';
import type { SeededRandom } from './random.ts';
import { blobPath } from './simulated-store.ts';
import type { Simulation } from './simulation.ts';

export type CommandKind =
  | 'job-check'
  | 'job-repair'
  | 'job-rebuild'
  | 'job-backfill'
  | 'job-attest'
  | 'job-export'
  | 'job-import';

const ended = z.object({ event: z.literal('ended'), outcome: z.looseObject({ exitCode: z.number() }).nullable() });
const checked = z.object({
  report: z.object({ backends: z.array(z.object({ backend: z.string(), isResumed: z.boolean() })) }),
});
const filled = z.object({ range: z.object({ from: z.number(), to: z.number() }) });
const attested = z.object({
  report: z.object({
    statement: z.object({
      from: z.number(),
      to: z.number(),
      blockHash: z.string(),
      counts: z.record(z.string(), z.number()),
    }),
  }),
});
/** A job that ends so long after the simulation changed something may not have seen the change. */
const SLACK_MS = 5 * 60_000;

/** A moment before a job, with which the state after it is compared. */
export interface Moment {
  readonly atMs: number;
  readonly reorganisations: number;
  readonly good: ReadonlyMap<string, GoodCopy>;
  readonly stored: ReadonlySet<VersionHash>;
  readonly withheld: ReadonlySet<VersionHash>;
  readonly mined: ReadonlyMap<VersionHash, number>;
  /** Blobs at each store, right at that moment. */
  readonly held: ReadonlyMap<string, readonly ContentName[]>;
}

/** Jobs that operators run beside an archiver that runs. Each exit code 0 says something, which is compared with the truth. */
export class Commands {
  readonly #simulation: Simulation;
  readonly #bundles: Bundles;

  constructor(simulation: Simulation, bundles: Bundles) {
    this.#simulation = simulation;
    this.#bundles = bundles;
  }

  async run(kind: CommandKind, random: SeededRandom): Promise<void> {
    if (kind === 'job-import' && this.#bundles.isEmpty) await this.run('job-export', random);
    const { life } = this.#simulation;
    const asked = life === null ? null : this.#asked(kind, life, random);
    if (life === null || asked === null) return;
    const before = this.#moment(life);
    const outcome = await this.#outcome(life, ...asked).catch((error: unknown) => {
      if (!life.signal.aborted) this.#simulation.note(`${kind}: ${messageOf(error)}`);
      return null;
    });
    if (outcome === null) {
      // A crash leaves the file of an export to the next one; an archive that refuses the heights never ends.
      if (kind === 'job-export' && !life.signal.aborted) this.#bundles.giveUp();
      return;
    }
    this.#simulation.note(`${kind}: exit ${outcome.exitCode}`);
    const isSame = this.#simulation.life === life && !life.signal.aborted;
    // An error here fails the seed: an outcome of another form would be compared with nothing.
    const isTold = outcome.exitCode === 0 || kind === 'job-export' || kind === 'job-import';
    if (isTold && isSame) await this.#compare(kind, life, before, outcome);
  }

  /** A check that reads everything is given up in the middle. */
  async cancelSoon(random: SeededRandom): Promise<void> {
    const { life, time } = this.#simulation;
    if (life === null) return;
    try {
      const id = life.jobs.start('check', { subset: { index: 1, of: 1 }, repair: random.chance(0.5) });
      time.after(random.between(1, 3_000), 'archiver', () => void life.jobs.cancel(id));
    } catch (error) {
      this.#simulation.note(`job-cancelled: ${messageOf(error)}`);
    }
  }

  /** null: there is nothing to ask for. */
  #asked(kind: CommandKind, life: Life, random: SeededRandom): [string, unknown] | null {
    const { peers } = this.#simulation;
    switch (kind) {
      case 'job-check':
        return ['check', { subset: { index: 1, of: 1 } }];
      case 'job-repair':
        return ['check', { subset: { index: 1, of: 1 }, repair: true }];
      case 'job-rebuild':
        return ['rebuild', {}];
      case 'job-backfill':
        return ['backfill', { sources: ['node', ...peers.map(({ name }) => name)] }];
      case 'job-attest':
        return ['attest', {}];
      case 'job-export':
        return ['export', this.#bundles.exportParameters(life)];
      case 'job-import': {
        const parameters = this.#bundles.importParameters(random);
        return parameters === null ? null : ['import', parameters];
      }
      default:
        return kind satisfies never;
    }
  }

  async #outcome(life: Life, kind: string, parameters: unknown) {
    const id = life.jobs.start(kind, parameters);
    for await (const line of life.jobs.follow(id, new AbortController().signal)) {
      const told = ended.safeParse(JSON.parse(line));
      if (told.success) return told.data.outcome;
    }
    return null;
  }

  #moment(life: Life): Moment {
    const { truth, configured, time } = this.#simulation;
    const claims = new Claims(life.folder);
    try {
      const names = [...truth.contents.values()];
      return {
        ...{ atMs: time.steadyMs, reorganisations: truth.reorganisations },
        good: new Map(claims.good().map((copy) => [keyOf(copy), copy])),
        stored: claims.stored(),
        withheld: new Set(truth.withheld),
        mined: new Map(truth.mined()),
        held: new Map(
          configured.map((store) => [store.id, names.filter((name) => truth.isTrue(name, store.held(name)))]),
        ),
      };
    } finally {
      claims.close();
    }
  }

  async #compare(kind: CommandKind, life: Life, before: Moment, outcome: object): Promise<void> {
    const after = this.#moment(life);
    switch (kind) {
      case 'job-check':
      case 'job-repair':
        this.#compareCheck(before, after, checked.parse(outcome).report.backends);
        break;
      case 'job-rebuild':
        this.#compareRebuild(life, before, after);
        break;
      case 'job-backfill':
        this.#compareBackfill(life, before, after, filled.parse(outcome).range);
        break;
      case 'job-attest':
        this.#compareAttestation(before, after, attested.parse(outcome).report.statement);
        break;
      case 'job-export':
        await this.#bundles.compareExport(before, after, outcome);
        break;
      case 'job-import':
        this.#bundles.compareImport(before, after, outcome);
        break;
      default:
        kind satisfies never;
    }
  }

  /** A check that read everything and found nothing: each copy that counted all the while is there. */
  #compareCheck(
    before: Moment,
    after: Moment,
    backends: readonly { readonly backend: string; readonly isResumed: boolean }[],
  ): void {
    const { configured } = this.#simulation;
    for (const [key, copy] of after.good) {
      const store = configured.find(({ id }) => id === copy.backend);
      const isRead = backends.some(({ backend, isResumed }) => backend === copy.backend && !isResumed);
      if (store === undefined || !isRead || !before.good.has(key)) continue;
      const harmedMs = store.harmed.get(blobPath(copy.name)) ?? null;
      if (this.#simulation.truth.isTrue(copy.name, store.held(copy.name))) continue;
      if (harmedMs === null || harmedMs < before.atMs) {
        this.#fail('check', `a check ended with 0, and ${blobPath(copy.name)} is not at ${store.id}`);
      }
    }
  }

  /** A rebuild that asked every place: everything that lay there is known. */
  #compareRebuild(life: Life, before: Moment, after: Moment): void {
    const { configured, truth } = this.#simulation;
    const claims = new Claims(life.folder);
    try {
      for (const store of configured) {
        const isFaulty = store.health !== 'well' || store.listingLateMs > 0 || store.listsWrongly;
        if (isFaulty || after.atMs - store.changedMs < SLACK_MS) continue;
        const still = new Set(after.held.get(store.id));
        for (const name of before.held.get(store.id) ?? []) {
          if (!still.has(name) || truth.touched.has(name.versionHash)) continue;
          if (claims.sequenceOf(name) === null) {
            this.#fail('rebuilt', `a rebuild ended with 0, and ${blobPath(name)} at ${store.id} is not known`);
          }
        }
      }
    } finally {
      claims.close();
    }
  }

  /** A backfill that lacks nothing: everything in its range is stored. */
  #compareBackfill(life: Life, before: Moment, after: Moment, { from, to }: { from: number; to: number }): void {
    const { truth, configured } = this.#simulation;
    if (before.reorganisations !== after.reorganisations) return;
    for (const [versionHash, height] of before.mined) {
      if (height < from || height > to || after.stored.has(versionHash) || truth.touched.has(versionHash)) continue;
      if (life.catalog.chain.blockAt(height)?.hash !== truth.main.chain.tree.at(height)?.hash) continue;
      const content = truth.contents.get(versionHash);
      if (content === undefined) continue;
      const path = blobPath(content);
      const isHarmed = configured.some((store) => (store.harmed.get(path) ?? 0) >= before.atMs);
      if (isHarmed || truth.harmedFiles.has(versionHash)) continue;
      this.#fail('backfilled', `a backfill of ${from} to ${to} ended with 0, and ${path} of ${height} is not stored`);
    }
  }

  /** A statement counts as many occurrences as there are, and no more as stored than are. */
  #compareAttestation(
    before: Moment,
    after: Moment,
    { from, to, blockHash, counts }: z.output<typeof attested>['report']['statement'],
  ): void {
    const { truth } = this.#simulation;
    const { tree } = truth.main.chain;
    if (tree.at(to)?.hash !== blockHash || before.reorganisations !== after.reorganisations) return;
    const occurrences = truth.occurrences(from, to);
    const all = occurrences.length;
    const stored = occurrences.filter(
      ({ versionHash }) => before.stored.has(versionHash) || after.stored.has(versionHash),
    ).length;
    const told = Object.values(counts).reduce((sum, count) => sum + count, 0);
    if (told !== all)
      this.#fail('attested', `${told} occurrences of ${from} to ${to} are attested, and there are ${all}`);
    if ((counts['stored'] ?? 0) > stored) {
      this.#fail('attested', `${counts['stored']} stored occurrences are attested, and there are ${stored}`);
    }
  }

  #fail(invariant: string, message: string): void {
    this.#simulation.fail(invariant, message);
  }
}

function keyOf({ backend, name }: GoodCopy): string {
  return `${backend} ${blobPath(name)}`;
}
