import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SOURCE_FILES } from '../source-files.ts';

const RUNBOOK = readFileSync(fileURLToPath(new URL('../../config/RUNBOOK.md', import.meta.url)), 'utf8');
const NAMED = new Set([...RUNBOOK.matchAll(/`([a-z]+\/[a-z0-9-]+)`/g)].map(([, code = '']) => code));

/** Rooms whose code runs in a daemon or a stateless reader, and can raise a condition or throw an error that becomes one. */
const ROOMS = ['app', 'catalog', 'chain', 'core', 'federation', 'ingest', 'node', 'reading', 'replication', 'storage'];
const CODE =
  /'((?:alert|archive|audit|backend|canary|catalog|chain|clock|disk|heartbeat|node|peer|reader|storage|subscription)\/[a-z0-9-]+)'/g;

/** Codes of one call of a command or a client. No loop of the daemon makes such a call. */
const OF_A_CALL = new Set([
  'archive/bad-cursor',
  'archive/bad-range',
  'archive/not-withheld',
  'node/closed',
  'node/invalid-argument',
  'node/stage-not-reached',
  'node/stage-unknown',
  'node/submission-unknown',
]);

/** Every code in the source, and those that the source puts together. */
function codes(): string[] {
  const found = new Set<string>();
  for (const { path, text } of SOURCE_FILES.filter(({ room }) => ROOMS.includes(room))) {
    for (const [, code = ''] of text.matchAll(CODE)) found.add(code);
    // The check of a backend gives its findings names of their own.
    if (path.endsWith('-probe.ts')) {
      for (const [, check] of text.matchAll(/look\('([a-z0-9-]+)'/g)) found.add(`backend/${check}`);
    }
  }
  for (const percent of [50, 75, 90]) found.add(`chain/at-risk-${percent}`).add(`chain/unstored-${percent}`);
  return [...found].filter((code) => !OF_A_CALL.has(code)).sort();
}

test('the runbook names every condition that the source can raise, and no other', () => {
  const all = codes();
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter((code) => !NAMED.has(code))).toEqual([]);
  const known =
    /^(alert|archive|audit|backend|canary|catalog|chain|clock|disk|heartbeat|node|peer|reader|storage|subscription)\//;
  expect([...NAMED].filter((code) => known.test(code) && !all.includes(code))).toEqual([]);
});

test('an entry that the table of conditions refers to is there', () => {
  const [, table = ''] = RUNBOOK.split('# Conditions\n');
  const entries = [...table.matchAll(/Holdfast[A-Z][A-Za-z]+/g)].map(([name]) => name);
  expect(entries.length).toBeGreaterThan(10);
  for (const entry of entries) expect(RUNBOOK).toContain(`## ${entry}\n`);
});
