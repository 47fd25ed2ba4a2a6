import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { UNSTORED } from '../../src/catalog/loss-ledger.ts';
import { countAtRisk, DeadlineWatch } from '../../src/chain/deadline-watch.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NOW_SECONDS = 1_767_000_000;
/** Makes contents that are as if another backend were required from now on. */
const UNSTORE = `WITH RECURSIVE number (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM number WHERE at < ?)
  INSERT INTO content (version_hash, hash_type, sequence, state, size_bytes, median_time_seconds, first_seen_ms, unmined)
  SELECT randomblob(32), 1, at, 1, 100, ${NOW_SECONDS - 100_000}, 1, 0 FROM number`;

function scene() {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder });
  const beside = new Database(join(folder, 'catalog.sqlite'));
  onTestFinished(() => void beside.close());
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), Date.now);
  const watch = new DeadlineWatch(catalog, { state: { tip: { medianTimeSeconds: NOW_SECONDS } } }, conditions, 0);
  const told = () => {
    watch.look();
    return conditions.all().map(({ code, message }) => `${code}: ${message.split(' are ')[0]}`);
  };
  return { catalog, beside, told };
}

describe('content that is durable here alone', () => {
  test('is counted up to a number that costs little', () => {
    const { beside, told } = scene();
    expect(told()).toEqual([]);
    beside.prepare(UNSTORE).run(9_999);
    expect(told()).toEqual(['chain/unstored-90: 9,999 blobs']);
    beside.prepare('DELETE FROM content').run();
    beside.prepare(UNSTORE).run(10_001);
    expect(told()).toEqual(['chain/unstored-90: 10,000 or more blobs']);
  });

  test('is counted from its index alone', () => {
    const { beside } = scene();
    const plan = beside.prepare(`EXPLAIN QUERY PLAN SELECT COUNT(*) FROM ${UNSTORED}`).all({ until: 1 });
    expect(JSON.stringify(plan)).toContain('USING COVERING INDEX content_unstored (median_time_seconds<?)');
  });

  test('is not counted where what is at risk is asked for', () => {
    const { catalog } = scene();
    const counted = [vi.spyOn(catalog.losses, 'unstored'), vi.spyOn(catalog.losses, 'lateness')];
    expect(countAtRisk(catalog, NOW_SECONDS)).toBe(0);
    expect(counted.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  });
});
