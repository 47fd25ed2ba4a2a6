import { expect, test } from 'vitest';
import { OutageWatch } from '../../src/chain/outage-watch.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { Activity } from '../../src/view/activity.ts';
import { type OutageReport, outagePath } from '../../src/view/outage-report.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';

function report(noticedAt: string, endedAt: string | null): OutageReport {
  const about = { format: 1, kind: 'walk', noticedAt, from: 7, to: 19, sinceSeconds: 1, missedSeconds: 2 } as const;
  return { ...about, mayBeLost: null, savable: null, lacking: null, sources: [], endedAt, outcome: null };
}

test('a start goes on with the report that is open, also behind one that a clock ahead had dated later', async () => {
  const catalog = openCatalog();
  const open = report('2026-05-02T00:00:00.000Z', null);
  const ended = ['2026-05-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'].map((at) => report(at, at));
  for (const one of [...ended, open]) catalog.evidence.put(outagePath(one), one);
  const stopping = new AbortController();
  const watch = new OutageWatch({
    catalog,
    poller: {
      state: { genesis: null, tip: null, lastAnswerMs: null, sweptMs: null, entries: null },
      isListCurrent: () => false,
      isListed: () => false,
    },
    chain: { isWalked: false, hasLookedForFinal: true, moved: new Notifier() },
    activity: new Activity(),
    conditions: new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 0),
    sources: [],
    audit: { compare: () => Promise.reject(new Error('Nothing has ended.')) },
  });
  const running = watch.run(stopping.signal);
  expect(watch.report).toEqual(open);
  stopping.abort();
  await running;
});
