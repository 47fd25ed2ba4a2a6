import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { type AuditFacts, auditChain } from '../../src/chain/audit.ts';
import { ChainAudit } from '../../src/chain/chain-audit.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const hashOf = (height: number) => parseBlockHash(hex(`block ${height}`));
const name = (label: string) => ({ hashType: 'keccak256', versionHash: parseVersionHash(hex(label)) }) as const;
const NEVER = new AbortController().signal;
const SECONDS = 150;
const WINDOW = 21_600;

/** Records blocks from height 100 on, each with the blobs of these labels. */
function walk(catalog: Catalog, blocks: readonly (readonly string[])[]): Catalog {
  const from = (catalog.chain.state.tip?.height ?? 99) + 1;
  catalog.chain.recordStart(from);
  const walked = blocks.map((labels, index) => {
    const height = from + index;
    const occurrences = labels.map((label, transactionIndex) => {
      const txid = parseTxId(hex(`${label} in ${height}`));
      return { ...name(label), txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
    });
    const times = { timeSeconds: height * SECONDS, medianTimeSeconds: height * SECONDS };
    return { height, hash: hashOf(height), previousHash: hashOf(height - 1), ...times, occurrences, unclear: [] };
  });
  catalog.chain.recordBlocks(walked, () => false);
  return catalog;
}

function store(catalog: Catalog, labels: readonly string[]): void {
  catalog.recordSpooled(labels.map((label) => spooled(label)));
  catalog.recordProven(
    'local',
    labels.flatMap((label) => catalog.find(name(label).versionHash)),
  );
}

const audit = (catalog: Catalog, range = {}, nodeTip: AuditFacts['nodeTip'] = null) =>
  auditChain(catalog, { from: null, to: null, ...range }, { finalHeight: null, nodeTip }, NEVER);

describe('the audit', () => {
  test('the audit includes followed history below the start in a complete report', async () => {
    const catalog = walk(openCatalog(), [['here']]);
    store(catalog, ['here']);
    expect(await audit(catalog)).toMatchObject({ range: { from: 100, to: 100 }, isComplete: true });
    const times = { timeSeconds: 99 * SECONDS, medianTimeSeconds: 99 * SECONDS };
    const txid = parseTxId(hex('gone in 99'));
    const occurrences = [{ ...name('gone'), txid, vout: 0, transactionIndex: 0, makeRecord: () => '{}' }];
    catalog.chain.recordHistory([
      { height: 99, hash: hashOf(99), previousHash: hashOf(98), ...times, occurrences, unclear: [] },
    ]);
    catalog.losses.record([{ ...name('gone'), upToHeight: 99, deadlineSeconds: 5, answers: [] }]);
    expect(await audit(catalog)).toMatchObject({
      range: { from: 99, to: 100 },
      occurrences: { stored: 1, lost: 1 },
      isComplete: false,
      isMissing: true,
    });
  });

  test.each([0, 1, 64, 65, 300])('the audit counts %i unstored contents of 400 correctly', async (open) => {
    const labels = Array.from({ length: 400 }, (_, index) => `content ${index}`);
    const unstored = labels.slice(0, open);
    // Each content occurs twice, and the first five once more above the requested range.
    const catalog = walk(openCatalog(), [labels, labels, labels.slice(0, 5)]);
    store(catalog, labels.slice(open));
    const half = unstored.filter((_, index) => index % 2 === 0);
    catalog.recordSpooled(half.map((label) => spooled(label)));
    const gone = unstored.filter((_, index) => index % 4 === 1);
    catalog.losses.record(gone.map((label) => ({ ...name(label), upToHeight: 100, deadlineSeconds: 5, answers: [] })));
    const { occurrences, spooled: durable } = await audit(catalog, { from: 100, to: 101 });
    const lost = gone.length;
    expect(durable).toBe(2 * half.length);
    expect(occurrences).toEqual({
      stored: 2 * (400 - open),
      pending: 2 * open - lost,
      custom: 0,
      withheld: 0,
      lost,
      'not-archived-by-rule': 0,
    });
  });

  test('the audit classifies every occurrence, and lists slack of pending and answers of lost ones', async () => {
    const catalog = walk(openCatalog(), [['stored', 'stored too'], ['spooled', 'waiting', 'gone'], ['stored']]);
    store(catalog, ['stored', 'stored too']);
    catalog.recordSpooled([spooled('spooled')]);
    const answers = [{ source: 'node x', answered: 'absent', at: '2026-01-01T00:00:00.000Z' }] as const;
    catalog.losses.record([{ ...name('gone'), upToHeight: 101, deadlineSeconds: 5, answers }]);
    const report = await audit(catalog);
    expect(report).toMatchObject({
      range: { from: 100, to: 102 },
      occurrences: { stored: 3, pending: 2, custom: 0, withheld: 0, lost: 1, 'not-archived-by-rule': 0 },
      spooled: 1,
      findingCount: 3,
      unexamined: [],
      isComplete: false,
    });
    const slackSeconds = WINDOW - SECONDS;
    expect(report.findings).toMatchObject([
      { ...name('spooled'), class: 'pending', isSpooled: true, height: 101, slackSeconds },
      { ...name('waiting'), class: 'pending', isSpooled: false, answers: [] },
      { ...name('gone'), class: 'lost', answers },
    ]);
  });

  test('a pending occurrence is missing only after its window, unless it is durable here', async () => {
    const late = (labels: string[]) => {
      const empty = Array.from({ length: WINDOW / SECONDS + 1 }, () => []);
      return walk(openCatalog(), [labels, ...empty]);
    };
    const young = walk(openCatalog(), [['waiting'], []]);
    expect(await audit(young)).toMatchObject({ isMissing: false, isComplete: false, occurrences: { pending: 1 } });
    expect(await audit(late(['waiting']))).toMatchObject({ isMissing: true, occurrences: { pending: 1 } });
    const held = late(['here']);
    held.recordSpooled([spooled('here')]);
    expect(await audit(held)).toMatchObject({ isMissing: false, isComplete: false, occurrences: { pending: 1 } });
  });

  test('an unexamined height is never complete', async () => {
    const catalog = walk(openCatalog(), [['a'], []]);
    store(catalog, ['a']);
    expect(await audit(catalog)).toMatchObject({ isComplete: true, examinedBlocks: 2 });
    const beyond = await audit(catalog, { from: 90, to: 110 });
    expect(beyond).toMatchObject({ isComplete: false, findingCount: 0 });
    expect(beyond.unexamined).toEqual([
      { from: 90, to: 99 },
      { from: 102, to: 110 },
    ]);
    expect(await audit(openCatalog(), { from: 3, to: 4 })).toMatchObject({
      isComplete: false,
      unexamined: [{ from: 3, to: 4 }],
    });
  });

  test('a stalled follower leaves the node’s further heights unexamined, and deadlines approach', async () => {
    const catalog = walk(openCatalog(), [['waiting'], ['held']]);
    store(catalog, ['held']);
    const tip = (blocks: number) => ({ height: 101 + blocks, medianTimeSeconds: (101 + blocks) * SECONDS });
    const soon = await audit(catalog, {}, tip(2));
    expect(soon).toMatchObject({ range: { to: 101 }, unexamined: [], isMissing: false });
    expect(soon.findings).toMatchObject([{ slackSeconds: WINDOW - 3 * SECONDS }]);
    const stuck = await audit(catalog, {}, tip(150));
    expect(stuck).toMatchObject({ range: { to: 251 }, unexamined: [{ from: 102, to: 251 }], isMissing: true });
    expect(stuck.findings).toMatchObject([{ slackSeconds: WINDOW - 151 * SECONDS }]);
    expect(await audit(catalog, { to: 101 }, tip(150))).toMatchObject({ unexamined: [] });
    // A node that went back in time withdraws nothing.
    expect(await audit(catalog, {}, tip(-50))).toMatchObject({ range: { to: 101 }, isMissing: false });
  });

  test('an inverted range is refused, and a default end never makes one', async () => {
    const catalog = walk(openCatalog(), [[], []]);
    await expect(audit(catalog, { from: 101, to: 100 })).rejects.toMatchObject({ code: 'archive/bad-range' });
    const beyond = { range: { from: 500, to: 500 }, unexamined: [{ from: 500, to: 500 }], isComplete: false };
    expect(await audit(catalog, { from: 500 })).toMatchObject(beyond);
    const below = { range: { from: 7, to: 7 }, unexamined: [{ from: 7, to: 7 }], isComplete: false };
    expect(await audit(catalog, { to: 7 })).toMatchObject(below);
  });

  test('an overdue occurrence counts as missing, however many others are listed before it', async () => {
    const spooledOnly = Array.from({ length: 10_050 }, (_, index) => `spooled ${index}`);
    const catalog = walk(openCatalog(), [spooledOnly, ['waiting']]);
    catalog.recordSpooled(spooledOnly.map((label) => spooled(label)));
    const tip = (blocks: number) => ({ height: 101, medianTimeSeconds: (101 + blocks) * SECONDS });
    const report = await audit(catalog, {}, tip(145));
    expect(report).toMatchObject({ findingCount: 10_051, isMissing: true });
    expect(report.findings).toHaveLength(10_000);
    expect(await audit(catalog, {}, tip(100))).toMatchObject({ findingCount: 10_051, isMissing: false });
  });

  test('withheld and custom occurrences do not prevent a complete report, whatever is held of them', async () => {
    const catalog = walk(openCatalog(), [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'd'],
    ]);
    store(catalog, ['a', 'b']);
    catalog.withheld.record(
      [{ ...name('b'), archiver: 'x', publicReason: null, reason: 'an order', atMs: 1, purge: false }],
      false,
    );
    // Two occurrences of one content hash to something else; another content has its own bytes here after all.
    for (const [label, keccak] of [
      ['c', 'one'],
      ['c', 'other'],
      ['a', 'one'],
    ] as const) {
      catalog.custom.record({ versionHash: name(label).versionHash, keccak: name(keccak).versionHash }, 9, 'local');
    }
    expect(await audit(catalog)).toMatchObject({
      occurrences: { stored: 1, pending: 1, custom: 2, withheld: 2, lost: 0, 'not-archived-by-rule': 0 },
      findings: [name('d')],
    });
    expect(await audit(catalog, { to: 101 })).toMatchObject({
      occurrences: { stored: 1, pending: 0, custom: 1, withheld: 2, lost: 0, 'not-archived-by-rule': 0 },
      findings: [],
      isComplete: true,
    });
  });

  test('counting by content and by height gives the same result', async () => {
    const blocks = Array.from({ length: 600 }, (_, index) => [`${index}`, `${index % 7}`]);
    const catalog = walk(openCatalog(), blocks);
    const isStored = (label: string) => Number(label) % 2 === 0;
    store(catalog, [...new Set(blocks.flat().filter(isStored))]);
    const parts = await Promise.all([0, 1, 2, 3, 4].map((part) => audit(catalog, rangeOf(part))));
    const all = await audit(catalog);
    expect(parts.reduce((sum, { occurrences }) => sum + occurrences.stored, 0)).toBe(all.occurrences.stored);
    expect(parts.flatMap(({ findings }) => findings)).toEqual(all.findings);
    const stored = blocks.flat().filter(isStored).length;
    expect(all.occurrences).toMatchObject({ stored, pending: 1_200 - stored });
  });

  test('the report describes one moment despite changes during the audit', async () => {
    const catalog = walk(openCatalog(), [['a'], ['b']]);
    const telling = audit(catalog);
    store(catalog, ['a', 'b']);
    catalog.chain.takeBack(100);
    walk(catalog, [['c'], ['d']]);
    expect(await telling).toMatchObject({ range: { from: 100, to: 101 }, occurrences: { stored: 0, pending: 2 } });
    expect(await audit(catalog)).toMatchObject({ range: { to: 102 }, occurrences: { stored: 1, pending: 2 } });
  });

  test('the audit holds no list of custom contents in memory', async () => {
    const script = fileURLToPath(new URL('audit-live-heap.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, temporaryFolder(), '20000']);
    const { looks, grownBytes, ...occurrences } = JSON.parse(stdout);
    expect(occurrences).toMatchObject({ custom: 20_000, pending: 0 });
    // A list of as many names takes seven MiB.
    expect([looks > 10, grownBytes < 2_097_152]).toEqual([true, true]);
  });

  test('the condition of an incomplete audit ends with the next look after the blobs are stored, without more evidence', async () => {
    const catalog = walk(openCatalog(), [['late']]);
    catalog.copies.useBackends(['local']);
    const conditions = new ConditionBoard(createLogger('silent', { write: () => {} }), Date.now);
    const chainAudit = new ChainAudit(
      catalog,
      { state: { tip: null } },
      { finalHeight: 100 },
      conditions,
      SYSTEM_CLOCK,
    );
    await chainAudit.run(NEVER);
    await chainAudit.lookAgain(NEVER);
    expect(conditions.all()).toMatchObject([{ code: 'audit/incomplete' }]);
    store(catalog, ['late']);
    await chainAudit.lookAgain(NEVER);
    expect(conditions.all()).toEqual([]);
    expect(chainAudit.tally).toMatchObject({ stored: 1, pending: 0 });
    expect(catalog.evidence.below('audits', '', 10)).toHaveLength(1);
  });

  test('an abort stops the audit', async () => {
    const catalog = walk(openCatalog(), [['a']]);
    await expect(
      auditChain(catalog, { from: null, to: null }, { finalHeight: null, nodeTip: null }, AbortSignal.abort()),
    ).rejects.toThrow();
  });
});

function rangeOf(part: number) {
  return { from: 100 + part * 120, to: 100 + part * 120 + 119 };
}
