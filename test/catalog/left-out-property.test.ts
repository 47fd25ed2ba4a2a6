import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Catalog } from '../../src/catalog/catalog.ts';
import { parseLeftOutDocument } from '../../src/catalog/left-out-document.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { parseSenderScript, type Senders } from '../../src/core/blob/sender.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { blockOn, HandClock, MIGRATIONS, sighting, spooled } from './catalog-in-folder.ts';

/** `HOLDFAST_FUZZ_RUNS` sets the number of runs for a search of hours, each time along other ways. */
const LONG_SEARCH = process.env['HOLDFAST_FUZZ_RUNS'];
const PARAMETERS = LONG_SEARCH === undefined ? { numRuns: 15, seed: 20_261_123 } : { numRuns: Number(LONG_SEARCH) };

const LABELS = ['a', 'b', 'allowed'] as const;
const ALLOWED = sighting('allowed').versionHash;
const [ours, theirs] = [parseSenderScript('5101'), parseSenderScript('5102')];
const SENDERS: readonly Senders[] = [[ours], [theirs], null, [theirs, ours]];
const senders = new Set([ours]);
const unminedRow = z.number().optional();
const GENESIS = { height: 0, hash: parseBlockHash('00'.repeat(32)) };

function open(rule: ArchiveRule, clock: HandClock, folder: string): Catalog {
  const path = join(folder, 'catalog.sqlite');
  const backends = ['local'];
  const catalog = Catalog.open({ path, migrationsFolder: MIGRATIONS, backends, replicasRequired: 1, rule, clock });
  catalog.copies.useBackends(backends);
  return catalog;
}

/** A catalog under a rule by sender, and the branch that it walked. */
class Walker {
  readonly clock = new HandClock();
  readonly folder = temporaryFolder();
  readonly rule: ArchiveRule;
  catalog: Catalog;
  branch: { readonly label: string; readonly senders: Senders; readonly block: WalkedBlock }[] = [];
  #marks = 0;

  constructor(rule: ArchiveRule) {
    this.rule = rule;
    this.catalog = open(rule, this.clock, this.folder);
    this.catalog.chain.recordStart(1);
  }

  mine(label: string, from: Senders): void {
    this.#marks += 1;
    const block = blockOn(this.branch.at(-1)?.block ?? GENESIS, label, `mark ${this.#marks}`, from);
    this.catalog.chain.recordBlocks([block], () => false);
    this.branch.push({ label, senders: from, block });
  }

  takeBack(blocks: number): void {
    const height = Math.max(1, this.branch.length - blocks);
    if (height >= this.branch.length) return;
    this.catalog.chain.takeBack(height);
    this.branch = this.branch.slice(0, height);
  }

  lose(label: string): void {
    const { versionHash, hashType } = spooled(label);
    const upToHeight = this.catalog.chain.lastHeight({ versionHash, hashType });
    if (upToHeight === null || (this.catalog.findQueued(versionHash)?.hashType ?? null) === null) return;
    this.catalog.losses.record([{ hashType, versionHash, upToHeight, deadlineSeconds: 1, answers: [] }]);
  }

  reopen(): void {
    this.catalog.close();
    this.catalog = open(this.rule, this.clock, this.folder);
  }

  /** Hours later a new catalog reads the documents, and walks the branch without knowing a sender. */
  madeAgain(): Catalog {
    const made = open(this.rule, this.clock, temporaryFolder());
    made.chain.recordStart(1);
    made.losses.adoptEvidence(this.catalog.evidence.below('not-archived', '', 1_000));
    for (const { block } of this.branch) {
      const occurrences = block.occurrences.map((occurrence) => ({ ...occurrence, senders: null }));
      made.chain.recordBlocks([{ ...block, occurrences }], () => true);
    }
    return made;
  }
}

type Change = (walker: Walker, label: string, sizeBytes: number, n: number) => void;

const changes: Readonly<Record<string, Change>> = {
  list: ({ catalog }, label, sizeBytes, n) => {
    const one = sighting(label, { sizeBytes });
    catalog.noteListed([{ ...one, mayWait: n > 0, medianTimeSeconds: one.medianTimeSeconds + n }]);
  },
  mine: (walker, label, _, n) => walker.mine(label, SENDERS[n] ?? null),
  takeBack: (walker, _label, _size, n) => walker.takeBack(n + 1),
  spool: ({ catalog }, label, sizeBytes) => catalog.recordSpooled([spooled(label, 'keccak256', { sizeBytes })]),
  damage: ({ catalog }, label) => catalog.recordDamaged('local', spooled(label)),
  lose: (walker, label) => walker.lose(label),
  fail: ({ catalog, clock }, label) => {
    const { versionHash } = sighting(label);
    if (catalog.findQueued(versionHash) === null) return;
    const failure = { code: 'node/unreachable', message: 'It is away.', nextAttemptMs: clock.ms + 60_000 };
    catalog.recordFailures([{ versionHash, ...failure }]);
  },
  later: ({ clock }) => {
    clock.ms += 700_000;
  },
  reopen: (walker) => walker.reopen(),
};

/** A blob is in one place alone: left out, queued, held or lost; and its evidence says the same. */
function expectOnePlace({ catalog, branch }: Walker, label: string, unmined: number | undefined): void {
  const { versionHash } = sighting(label);
  const mined = branch.filter((one) => one.label === label);
  const queued = catalog.findQueued(versionHash);
  const isElsewhere =
    catalog.losses.find(spooled(label)) !== null || catalog.find(versionHash).some(({ state }) => state !== 'seen');
  const isLeftOut = unmined !== undefined;
  expect(catalog.leftOut.has(versionHash), label).toBe(isLeftOut);
  if (isLeftOut) {
    expect([queued, isElsewhere, unmined], label).toEqual([null, false, mined.length === 0 ? 1 : 0]);
    // Neither one of our sender, nor one of which no sender is known.
    expect(
      mined.every((one) => one.senders?.includes(ours) === false),
      label,
    ).toBe(true);
  }
  if (mined.length === 0) return;
  expect(isLeftOut || isElsewhere || queued !== null, `${label} is nowhere`).toBe(true);
  if (queued !== null) expect(queued.hashType, label).not.toBeNull();
  const document = parseLeftOutDocument(catalog.evidence.textOf('not-archived/0.json') ?? '');
  const isNamed = document?.blobs.some((blob) => blob.versionHash === versionHash) ?? false;
  expect(isNamed, `${label} in the evidence`).toBe(isLeftOut);
}

function expectSameWhenMadeAgain(walker: Walker): void {
  const made = walker.madeAgain();
  try {
    for (const { label } of walker.branch) {
      const { versionHash } = sighting(label);
      expect(made.leftOut.has(versionHash), label).toBe(walker.catalog.leftOut.has(versionHash));
    }
  } finally {
    made.close();
  }
}

const change = fc.tuple(
  // Blocks are what most of the rest depends on.
  fc.constantFrom(...Object.keys(changes), 'list', 'mine', 'mine'),
  fc.constantFrom(...LABELS),
  fc.constantFrom(500, 5_000),
  fc.nat({ max: SENDERS.length - 1 }),
);
const history = fc.array(change, { minLength: 3, maxLength: 30, size: 'max' });

test.each([
  ['size and sender', new ArchiveRule({ maxBlobBytes: 1_000, allowed: null, senders })],
  ['sender', new ArchiveRule({ maxBlobBytes: null, allowed: null, senders })],
  ['name and sender', new ArchiveRule({ maxBlobBytes: null, allowed: new Set([ALLOWED]), senders })],
])(
  'a blob is left out, queued, held or lost, and its evidence says so, after whatever changed: a rule by %s',
  (_, rule) => {
    fc.assert(
      fc.property(history, (chosen) => {
        const walker = new Walker(rule);
        const beside = new Database(join(walker.folder, 'catalog.sqlite'), { readonly: true });
        const unmined = beside.prepare('SELECT unmined FROM left_out WHERE lower(hex(version_hash)) = ?').pluck();
        try {
          for (const [name, label, sizeBytes, n] of chosen) {
            changes[name]?.(walker, label, sizeBytes, n);
            const rows = LABELS.map((one) => unminedRow.parse(unmined.get(sighting(one).versionHash)));
            for (const [index, one] of LABELS.entries()) expectOnePlace(walker, one, rows[index]);
            expect(walker.catalog.leftOut.summary.count).toBe(rows.filter((row) => row !== undefined).length);
            const isTaken = !rule.leavesOut(ALLOWED, Number.POSITIVE_INFINITY, [theirs]);
            if (isTaken) expect(walker.catalog.leftOut.has(ALLOWED)).toBe(false);
          }
          expectSameWhenMadeAgain(walker);
        } finally {
          beside.close();
          walker.catalog.close();
        }
      }),
      PARAMETERS,
    );
  },
);
