import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WINDOW_STATES } from '../../../src/core/blob/window-state.ts';
import { WindowFeed } from '../../../src/http/window-feed.ts';
import { Fields, UnexpectedAnswer } from '../../../src/page/model/fields.ts';
import { layOut } from '../../../src/page/model/picture-layout.ts';
import { RateMeter } from '../../../src/page/model/rates.ts';
import { judge } from '../../../src/page/model/verdict.ts';
import { changeWindow, decodeWindow } from '../../../src/page/model/window.ts';
import { bytes, counted, duration, rate, shortHash } from '../../../src/page/model/words.ts';
import { FakeArchiveView, HEALTHY } from '../../http/fake-archive-view.ts';
import { FakeWindowView, windowBlob, windowBlock } from '../../http/fake-window-view.ts';

const state = fc.constantFrom(...WINDOW_STATES);
const blocks = fc
  .tuple(
    fc.integer({ min: 1, max: 50 }),
    fc.array(fc.tuple(fc.array(state, { maxLength: 5 }), fc.boolean()), { maxLength: 12 }),
  )
  .map(([lowest, columns]) =>
    columns.map(([states, isFinal], index) =>
      windowBlock(
        lowest + index,
        states.map((one, blob) => windowBlob(index * 64 + blob, one)),
        isFinal,
      ),
    ),
  );

function source(clock = { ms: 0 }) {
  const window = new FakeWindowView();
  const view = new FakeArchiveView();
  const feed = new WindowFeed(view, window, () => clock.ms);
  return { window, view, clock, feed, whole: () => decodeWindow(JSON.parse(feed.whole().toString())) };
}

describe('the window of the page', () => {
  test('changes in sequence give the same window as the whole', () => {
    fc.assert(
      fc.property(fc.array(blocks, { minLength: 2, maxLength: 6 }), (pictures) => {
        const { window, clock, feed, whole } = source();
        window.show(pictures[0] ?? []);
        let followed = whole();
        for (const picture of pictures.slice(1)) {
          window.show(picture);
          clock.ms += 1_000;
          const change = feed.changesSince(followed.revision);
          followed = changeWindow(followed, JSON.parse(change?.toString() ?? 'null'));
          expect(followed).toEqual(whole());
        }
      }),
      { numRuns: 200 },
    );
  });

  test('a stored blob in a final block is final, and an unknown state stays unknown', () => {
    const { window, feed } = source();
    window.show([windowBlock(7, [windowBlob(1), windowBlob(2, 'lost')], true), windowBlock(8, [windowBlob(3)])]);
    const text = feed.whole().toString();
    const states = (json: string) =>
      decodeWindow(JSON.parse(json)).blocks.map(({ blobs }) => blobs.map((one) => one.state));
    expect(states(text)).toEqual([['final', 'lost'], ['stored']]);
    expect(states(text.replaceAll('"state":"stored"', '"state":"wonderful"'))).toEqual([
      ['unknown', 'lost'],
      ['unknown'],
    ]);
  });

  test('any JSON is decoded or refused without another effect', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(() => decodeWindow(value)).toThrow(UnexpectedAnswer);
      }),
    );
  });

  test('text is shown without invisible and direction-changing characters', () => {
    const fields = Fields.of({ name: 'a\u202Eb\u0000c\u2066d\u200Fe\u2028f', __proto__: { x: 1 } }, 'it');
    expect(fields.text('name')).toBe('a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf');
    expect(() => fields.text('constructor')).toThrow(UnexpectedAnswer);
  });
});

describe('the verdict', () => {
  const RISKY = { smallestSlackSeconds: 60 };
  const CONDITION = {
    code: 'x/y',
    message: 'It is so.',
    hint: '',
    since: '',
    severity: 'warning' as const,
    blocksReadiness: false,
  };
  test.each([
    ['all stored', {}, 0, 'stored', 'good', 'Nothing is at risk'],
    ['something on the way', {}, 0, 'seen', 'good', 'Nothing is at risk; 1 blob on the way'],
    ['at risk, drawn', RISKY, 0, 'at-risk', 'bad', '1 blob is at risk'],
    ['at risk, not drawn', RISKY, 4, 'stored', 'bad', '4 blobs are at risk'],
    [
      'at risk, whatever else',
      { ...RISKY, node: { ...HEALTHY.node, reachable: false } },
      2,
      'stored',
      'bad',
      '2 blobs are at risk',
    ],
    [
      'no node',
      { node: { ...HEALTHY.node, reachable: false } },
      0,
      'stored',
      'unknown',
      'Cannot tell: the node does not answer',
    ],
    [
      'no walk',
      { chain: { ...HEALTHY.chain, lagBlocks: null } },
      0,
      'stored',
      'unknown',
      'Cannot tell yet: Holdfast has not caught up with the chain',
    ],
    [
      'behind',
      { chain: { ...HEALTHY.chain, lagBlocks: 3 } },
      0,
      'stored',
      'unknown',
      'Cannot tell yet: Holdfast has not caught up with the chain',
    ],
    [
      'not ready',
      { conditions: [{ ...CONDITION, severity: 'error', blocksReadiness: true }] },
      0,
      'stored',
      'bad',
      'The archive is not ready',
    ],
    [
      'no good copy of a blob',
      { conditions: [{ ...CONDITION, severity: 'critical', code: 'archive/no-good-copy' }] },
      0,
      'stored',
      'bad',
      'It is so.',
    ],
    [
      'a blob that is recorded as lost',
      { conditions: [{ ...CONDITION, severity: 'critical', code: 'chain/lost' }] },
      0,
      'stored',
      'notice',
      'Nothing is at risk; 1 thing to look at',
    ],
    ['a condition', { conditions: [CONDITION] }, 0, 'stored', 'notice', 'Nothing is at risk; 1 thing to look at'],
    ['lost before', { chain: { ...HEALTHY.chain, lost: 1 } }, 0, 'stored', 'notice', 'Nothing is at risk'],
  ] as const)('%s', (_, facts, atRisk, blob, tone, title) => {
    const { window, view, whole } = source();
    window.show([windowBlock(7, [windowBlob(1, blob)], true)], { atRisk });
    view.now = () => ({ ...HEALTHY, ...facts });
    expect(judge(whole())).toMatchObject({ tone, title });
  });

  test('a blob in an unknown state is not called safe', () => {
    const { window, feed } = source();
    window.show([windowBlock(7, [windowBlob(1)], true)]);
    const later = JSON.parse(feed.whole().toString().replace('"state":"stored"', '"state":"later"'));
    expect(judge(decodeWindow(later)).tone).toBe('unknown');
  });
});

describe('the layout', () => {
  test('every mark lies inside the picture for any window and width', () => {
    fc.assert(
      fc.property(blocks, fc.integer({ min: 120, max: 1_600 }), (picture, width) => {
        const { window, whole } = source();
        window.show(picture);
        const layout = layOut(whole(), width, 240);
        expect(layout.columns.length + layout.hidden).toBe(picture.length + 1);
        for (const { marks } of layout.columns) {
          for (const mark of marks) {
            expect(mark.x).toBeGreaterThanOrEqual(layout.plotLeft - 0.01);
            expect(mark.x + mark.width).toBeLessThanOrEqual(layout.plotRight + 0.01);
            expect(mark.y).toBeGreaterThanOrEqual(layout.plotTop - 0.01);
            expect(mark.y + mark.height).toBeLessThanOrEqual(layout.plotBottom + 0.01);
          }
        }
        for (const { y } of layout.slack) {
          expect(y).toBeGreaterThanOrEqual(layout.plotTop);
          expect(y).toBeLessThanOrEqual(layout.plotBottom);
        }
      }),
    );
  });

  test('the line of time left reaches zero at the deadline, and the oldest missing blob is marked', () => {
    const { window, whole } = source();
    window.show(
      Array.from({ length: 157 }, (_, index) => windowBlock(index, index === 40 ? [windowBlob(1, 'at-risk')] : [])),
    );
    const layout = layOut(whole(), 1_200, 260);
    expect([layout.slack[0]?.y, layout.slack.at(-1)?.y]).toEqual([layout.plotBottom, layout.plotTop]);
    expect(layout.prunedX).toBe(layout.columns[12]?.x);
    expect(layout.urgent?.secondsLeft).toBe(21_600 - 116 * 150);
  });

  test('a narrow screen shows the newest blocks and counts the others', () => {
    const { window, whole } = source();
    window.show(
      Array.from({ length: 320 }, (_, index) => windowBlock(index)),
      { blocksNotDrawn: 80 },
    );
    const layout = layOut(whole(), 320, 200);
    expect(layout.columns.at(-2)?.block?.height).toBe(319);
    expect(layout.hidden).toBe(320 - (layout.columns.length - 1) + 80);
    expect(layout.columns[0]?.width).toBeGreaterThanOrEqual(1.6 - 0.001);
  });
});

test('words for people', () => {
  expect([0, 59, 60, 3_600, 18_720, 172_800, -5].map(duration)).toEqual([
    '0 s',
    '59 s',
    '1 min',
    '1 h',
    '5 h 12 min',
    '2 days',
    '0 s',
  ]);
  expect([1, 1_023, 1_024, 2_097_152, 13.5e12].map(bytes)).toEqual([
    '1 byte',
    '1,023 bytes',
    '1 KiB',
    '2 MiB',
    '12.3 TiB',
  ]);
  expect([counted(1, 'blob'), counted(1_000, 'copy', 'copies')]).toEqual(['1 blob', '1,000 copies']);
  expect([rate(0.0512), rate(13.56), rate(0)]).toEqual(['0.051', '13.6', '0']);
  expect([shortHash('ab'.repeat(32)), shortHash('short')]).toEqual(['ababababab…ababab', 'short']);
});

test('rates appear once they are measured, and restart with another process', () => {
  const { window, view, clock, whole } = source({ ms: 1_000_000 });
  window.show([windowBlock(0, [windowBlob(0)]), windowBlock(24, [windowBlob(1)])]);
  const meter = new RateMeter();
  const at = (seconds: number, stored: number, calls: number) => {
    clock.ms = 1_000_000 + seconds * 1_000;
    view.now = () => ({
      ...HEALTHY,
      content: { ...HEALTHY.content, stored },
      node: { ...HEALTHY.node, calls: { getblock: calls } },
    });
    return meter.measure(whole());
  };
  expect(at(0, 0, 0)).toMatchObject({ archivedPerMinute: null, blobsPerBlock: 1, chainBytesPerHour: 2_001 });
  expect(at(30, 10, 60)).toMatchObject({ archivedPerMinute: 20, nodeCallsPerMinute: 120 });
  // Samples older than five minutes do not count.
  expect(at(330, 10, 60)).toMatchObject({ archivedPerMinute: 0, nodeCallsPerMinute: 0 });
  expect(at(340, 10, 3)).toMatchObject({ archivedPerMinute: null });
});
