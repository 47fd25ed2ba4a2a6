import { describe, expect, test } from 'vitest';
import { WindowFeed } from '../../../src/http/window-feed.ts';
import { previewOf } from '../../../src/page/model/preview.ts';
import { byUrgency, whatKeeps } from '../../../src/page/model/urgent.ts';
import { decodeWindow } from '../../../src/page/model/window.ts';
import { FakeArchiveView } from '../../http/fake-archive-view.ts';
import { FakeWindowView, windowBlob, windowBlock } from '../../http/fake-window-view.ts';

const text = (words: string) => new TextEncoder().encode(words);

describe('the preview of bytes', () => {
  test('gives the entropy of the whole', () => {
    expect(previewOf(new Uint8Array(1_000)).entropyBits).toBe(0);
    expect(previewOf(Uint8Array.from({ length: 4_096 }, (_, index) => index)).entropyBits).toBeCloseTo(8);
    expect(previewOf(new Uint8Array(0)).entropyBits).toBe(0);
  });

  test('writes hex in lines of sixteen, with the printable characters beside', () => {
    expect(previewOf(text('Holdfast keeps\n<b>')).hex.split('\n')).toEqual([
      '0000  48 6f 6c 64 66 61 73 74 20 6b 65 65 70 73 0a 3c  Holdfast keeps.<',
      '0010  62 3e                                            b>',
    ]);
    expect(previewOf(new Uint8Array(257)).isCut).toBe(true);
  });

  test('shows UTF-8 as text, cut between characters and without what turns the text around', () => {
    expect(previewOf(text('a\u202eb\tc')).text).toBe('a\uFFFDb\tc');
    expect(previewOf(text(`x${'😀'.repeat(400)}`)).text).toBe(`x${'😀'.repeat(255)}`);
    for (const bytes of [Uint8Array.of(0xff, 0xfe), text('a\0b'), new Uint8Array(0)]) {
      expect(previewOf(bytes).text).toBeNull();
    }
  });
});

describe('the most urgent blobs', () => {
  test('are those that are not durable, by their time, and then those that are durable', () => {
    const window = new FakeWindowView();
    window.show([
      windowBlock(7, [windowBlob(1, 'spooled'), windowBlob(2, 'stored'), windowBlob(3, 'lost')]),
      windowBlock(8, [windowBlob(4, 'at-risk'), windowBlob(5, 'withheld')]),
      windowBlock(9, [windowBlob(6, 'seen'), windowBlob(7, 'spooled')]),
    ]);
    const feed = new WindowFeed(new FakeArchiveView(), window, () => 0);
    const urgent = byUrgency(decodeWindow(JSON.parse(feed.whole().toString())));
    expect(urgent.map(({ blob, block }) => [block.height, blob.state])).toEqual([
      [8, 'at-risk'],
      [9, 'seen'],
      [7, 'spooled'],
      [9, 'spooled'],
    ]);
  });

  test('say what keeps them', () => {
    const replica = (backend: string, state: 'good' | 'wanted') => ({
      backend,
      state,
      verifiedAt: null,
      lastFailure: null,
    });
    const record = { lastFailure: null, replicas: [replica('local', 'good'), replica('s3', 'wanted')] };
    expect(whatKeeps({ ...record, state: 'spooled' })).toBe('It is durable here, and not proven yet on s3.');
    const refused = { ...replica('ipfs', 'wanted'), lastFailure: 'It is full. (2 attempts)' };
    expect(whatKeeps({ ...record, replicas: [...record.replicas, refused], state: 'spooled' })).toBe(
      'It is durable here, and not proven yet on s3, ipfs. ipfs: It is full. (2 attempts)',
    );
    expect(whatKeeps({ ...record, state: 'seen', lastFailure: 'The node is away. (3 attempts)' })).toBe(
      'The node is away. (3 attempts)',
    );
    expect(whatKeeps({ ...record, state: 'seen' })).toContain('no fetch of them has failed');
    expect(whatKeeps({ ...record, state: 'stored' })).toBe('It is stored by now.');
  });
});
