import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PeerStatus } from '../../src/view/archive-view.ts';
import { SharedByTests } from '../cleanup.ts';
import { Scene } from '../scenario/archive-on-devnode.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { fakeArchive, fullWindow } from './fake-archive.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
const NEVER = new AbortController().signal;
let browser: Browser;

const PEER: PeerStatus = {
  name: 'peer peer-1',
  state: 'good',
  leftAloneUntil: null,
  gave: 1_200,
  gaveBytes: 9_000,
  absent: 3,
  withheld: 0,
  wrongBytes: 0,
  compared: {
    ...{ at: '2026-11-20T06:37:00.000Z', endedAt: '2026-11-20T06:37:00.000Z', extent: 'whole', from: 1, to: 9_000 },
    ...{ onlyThere: 12, onlyHere: 3, fetched: 12, notGiven: 0, contradiction: null },
  },
  audited: {
    ...{ at: '2026-11-20T06:37:01.000Z', samples: 8 },
    outcomes: {
      ...{ good: 7, absent: 0, withheld: 0, 'not-archived-by-rule': 0 },
      ...{ 'wrong-bytes': 0, 'no-proof': 0, 'no-answer': 1 },
    },
  },
};
const ATTESTED = {
  ...{ at: '2026-11-01T02:11:00.000Z', number: 1_790_000_000, from: 1, to: 9_000 },
  ...{ root: 'ab'.repeat(32), key: 'cd'.repeat(32) },
  counts: { stored: 123_456, missing: 0, lost: 2, withheld: 1, custom: 0, 'not-archived-by-rule': 0 },
};

describeInBrowser('peers and statements on the page', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test('the page shows each peer with what came of asking it, and the last statement', async () => {
    const { window, tell, url } = await fakeArchive();
    window.show(fullWindow(10, 2));
    const nothing = { compared: null, audited: null, gave: 0, gaveBytes: 0, absent: 0 };
    const none = { good: 0, withheld: 0, 'not-archived-by-rule': 0, 'wrong-bytes': 0, 'no-answer': 0 };
    const failed = { ...(PEER.audited?.outcomes ?? none) };
    tell({
      peers: [
        PEER,
        {
          ...{ ...PEER, name: 'peer peer-2', state: 'left-alone', leftAloneUntil: '2026-11-21T00:00:00.000Z' },
          wrongBytes: 4,
          compared: PEER.compared && { ...PEER.compared, contradiction: 'It has other occurrences there.' },
          audited: PEER.audited && { ...PEER.audited, outcomes: { ...failed, absent: 2, 'no-proof': 1 } },
        },
        { ...PEER, ...nothing, name: 's3 peer-3', state: 'silent' },
        { ...PEER, ...nothing, name: 'folder peer-4', state: 'not-asked' },
      ],
      attested: ATTESTED,
    });
    const watched = await WatchedPage.open(browser, url);
    await watched.is('live');
    const rows = watched.page.locator('#peers-body tr');
    const said = await rows.allInnerTexts();
    expect(said).toHaveLength(4);
    expect(said[0]).toContain('12 only there (12 fetched), 3 only here');
    expect(said[0]).toContain('7 of 8 good');
    expect(said[0]).toContain('1,200 blobs');
    expect(await rows.nth(0).locator('.bad').count()).toBe(0);
    expect(said[1]).toMatch(/left alone after wrong bytes until 2026-11-2\d/);
    expect(said[1]).toContain('It contradicts the chain. It has other occurrences there.');
    expect(said[1]).toContain('7 of 8 good, 3 failed');
    expect(said[1]).toContain('4 times wrong bytes');
    expect(await rows.nth(1).locator('.bad').count()).toBe(4);
    expect(said[2]).toMatch(/s3 peer-3\s+does not answer\s+none yet/);
    expect(said[3]).toMatch(/folder peer-4\s+not asked yet\s+none yet/);
    const attested = await watched.text('#attested');
    expect(attested).toContain('1 to 9,000, all of them final');
    expect(attested).toContain('123,456 stored, 0 missing, 2 lost, 1 withheld, 0 custom');
    expect(attested).toContain(ATTESTED.root);
    expect(attested).toContain(ATTESTED.key);
    await watched.screenshot('peers');
    await watched.expectAccessible();
    // The page shows a later status without a reload.
    tell({ peers: [{ ...PEER, state: 'silent' }], attested: { ...ATTESTED, root: 'ef'.repeat(32) } });
    await watched.page.locator('#attested').getByText('ef'.repeat(32)).waitFor();
    await rows.getByText('does not answer').waitFor();
    watched.expectQuiet();
  });

  test('an archive without peers and statements says so', async () => {
    const { window, url } = await fakeArchive();
    window.show(fullWindow(10, 2));
    const watched = await WatchedPage.open(browser, url);
    await watched.is('live');
    expect(await watched.text('#federation')).toContain('This archive compares itself with no other.');
    expect(await watched.text('#federation')).toContain('none has been signed yet');
    expect(await watched.page.locator('#peers-table').isVisible()).toBe(false);
    expect(await watched.page.locator('#attested-note').isVisible()).toBe(false);
    watched.expectQuiet();
  });

  test('the page of two assembled daemons names the peer without its address', async () => {
    const env = { HOLDFAST_START_HEIGHT: '0', HOLDFAST_FINALITY: 'depth:1' };
    const one = await (await Scene.create({ env, time: 'real' })).start();
    one.mine(3, 2);
    const other = await Scene.create({
      on: one.node,
      env: { ...env, HOLDFAST_PEERS: one.url, HOLDFAST_PEER_SCHEDULE: '0 0 1 1 *' },
      time: 'real',
    });
    await other.start();
    for (const scene of [one, other]) {
      await scene.caughtUp();
      await scene.finalUpTo(one.node.chain.tip.height);
    }
    // The other writes its proofs behind what it stores.
    await other.until('four draws are proven', async () => {
      await other.archive.comparer.run(NEVER);
      return (other.archive.status().peers[0]?.audited?.outcomes.good ?? 0) >= 4;
    });
    const drawn = other.archive.status().peers[0]?.audited;
    await other.archive.attestor.attestMonthly(NEVER);
    const watched = await WatchedPage.open(browser, other.url);
    await watched.is('live');
    const [row] = await watched.page.locator('#peers-body tr').allInnerTexts();
    expect(row).toMatch(/^peer peer-1\s+answers/);
    expect(row).toContain(`${drawn?.outcomes.good} of ${drawn?.samples} good`);
    const section = await watched.text('#federation');
    expect(section).toContain('6 stored, 0 missing');
    expect(section).not.toContain('127.0.0.1');
    const answer = await fetch(`${other.url}/v1/attestation`);
    const { statement } = (await answer.json()) as { statement: { root: string } };
    expect(section).toContain(statement.root);
    watched.expectQuiet();
  });
});
