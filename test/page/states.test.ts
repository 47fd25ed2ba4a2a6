import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpServer } from '../../src/http/index.ts';
import { atEndOfTest, SharedByTests } from '../cleanup.ts';
import { blobOf, bytesOf, FakeArchiveView, HEALTHY } from '../http/fake-archive-view.ts';
import { windowBlob, windowBlock } from '../http/fake-window-view.ts';
import { readerRoutes, testOptions } from '../http/harness.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { fakeArchive, fullWindow, PAGE } from './fake-archive.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
let browser: Browser;

const CONDITION = {
  code: 'storage/left-alone',
  message: 'The backend s3 failed and is left alone for a while.',
  hint: 'Look at the bucket.',
  since: '2026-01-01T00:00:00.000Z',
  severity: 'warning' as const,
  blocksReadiness: false,
};

describeInBrowser('the view of an operator', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test('a full healthy window gives a good verdict', async () => {
    const { window, url } = await fakeArchive();
    const blocks = fullWindow();
    window.show(blocks, { waiting: { blobs: [windowBlob(1, 'spooled'), windowBlob(2, 'seen')], hasMore: false } });
    const watched = await WatchedPage.open(browser, url);
    await watched.is('live');
    expect(await watched.text('#verdict')).toContain('Nothing is at risk');
    expect(await watched.page.locator('#picture .mark.final').count()).toBe(148);
    const drawn = await watched.page.evaluate(
      "[...document.querySelectorAll('#picture .mark')].reduce((sum, path) => sum + Number(path.dataset.count), 0)",
    );
    expect(drawn).toBe(blocks.reduce((sum, { blobs }) => sum + blobs.length, 2));
    await watched.screenshot('full-window-light');
    await watched.expectAccessible();
    watched.expectQuiet();
  });

  test('blobs at risk, lost and withheld stand out, and the table agrees', async () => {
    const { window, tell, url } = await fakeArchive();
    const blocks = fullWindow(150, 20, (block, blob) => {
      if (block === 20 && blob < 3) return 'at-risk';
      if (block === 3 && blob === 1) return 'lost';
      if (block === 90 && blob === 5) return 'withheld';
      if (block > 146) return blob % 3 === 0 ? 'seen' : 'spooled';
      return 'stored';
    });
    window.show(blocks, { atRisk: 3 });
    tell({
      smallestSlackSeconds: 2_500,
      chain: { ...HEALTHY.chain, lost: 1 },
      conditions: [
        CONDITION,
        {
          ...CONDITION,
          severity: 'critical',
          code: 'chain/at-risk-75',
          message: '3 blobs that are on chain are not here.',
        },
      ],
    });
    const watched = await WatchedPage.open(browser, url);
    await watched.is('live');
    expect(await watched.page.locator('#verdict').getAttribute('data-tone')).toBe('bad');
    expect(await watched.text('#verdict')).toContain('3 blobs are at risk');
    expect(await watched.text('#verdict')).toContain('prune the most urgent missing blob in 41 min');
    expect(await watched.page.title()).toBe('✗ 3 blobs are at risk · Holdfast');
    expect(await watched.page.locator('#picture .mark.at-risk').getAttribute('data-count')).toBe('3');
    expect(await watched.page.locator('#picture .flag').count()).toBe(2);
    await watched.page.getByText('The window as a table').click();
    const row = watched.page.locator('#window-table tr', { hasText: '12,020' });
    expect((await row.innerText()).split(/\s+/).slice(-6)).toEqual(['0', '3', '0', '0', '0', '0']);
    await watched.screenshot('at-risk-light');
    await watched.expectAccessible();
    // The fake archive draws these blobs, and has no record of them.
    watched.expectQuiet(/status of 404/);
  });

  test('an archive that has nothing yet says so, and calls nothing wrong', async () => {
    const { window, url } = await fakeArchive();
    window.show([windowBlock(7)]);
    const watched = await WatchedPage.open(browser, url);
    await watched.is('live');
    expect(await watched.page.locator('#verdict').getAttribute('data-tone')).toBe('good');
    expect(await watched.text('#verdict')).toContain('The window has no blob.');
    expect(await watched.text('#alarms')).toBe('Nothing to report.');
    expect(await watched.page.locator('#urgent').isVisible()).toBe(false);
    await watched.page.getByText('The archive holds no blob yet.').waitFor();
    await watched.screenshot('empty');
    await watched.expectAccessible();
    watched.expectQuiet();
  });

  test('an unknown state is not called good', async () => {
    const { window, tell, url } = await fakeArchive();
    window.show(fullWindow(20, 4));
    const watched = await WatchedPage.open(browser, url);
    const title = watched.page.locator('#verdict-title');
    await title.getByText('Nothing is at risk').waitFor();
    tell({ node: { ...HEALTHY.node, reachable: false } });
    await title.getByText('Cannot tell: the node does not answer').waitFor();
    tell({ chain: { ...HEALTHY.chain, lagBlocks: 7 } });
    await title.getByText('Cannot tell yet: Holdfast has not caught up with the chain').waitFor();
    tell({ conditions: [{ ...CONDITION, severity: 'error', blocksReadiness: true }] });
    await title.getByText('The archive is not ready').waitFor();
    tell({ conditions: [CONDITION] });
    await title.getByText('Nothing is at risk; 1 thing to look at').waitFor();
    tell({ chain: { ...HEALTHY.chain, lost: 2 } });
    await watched.page.getByText('2 blobs were lost in the past.').waitFor();
    expect(await watched.page.locator('#verdict').getAttribute('data-tone')).toBe('notice');
    tell({});
    await watched.page.locator('#verdict[data-tone="good"]').waitFor();
    watched.expectQuiet();
  });

  test('the theme follows the system until the reader chooses one', async () => {
    const { window, tell, url } = await fakeArchive();
    window.show(
      fullWindow(150, 20, (block, blob) => (block === 30 && blob === 2 ? 'at-risk' : 'stored')),
      { atRisk: 1 },
    );
    tell({ conditions: [CONDITION], smallestSlackSeconds: 3_600 });
    const ground = 'getComputedStyle(document.body).backgroundColor';
    const watched = await WatchedPage.open(browser, url, { colorScheme: 'dark' });
    await watched.is('live');
    expect(await watched.page.evaluate(ground)).toBe('rgb(16, 20, 19)');
    await watched.screenshot('at-risk-dark');
    await watched.expectAccessible();
    const button = watched.page.getByRole('button', { name: 'Theme:' });
    await button.click();
    expect(await button.innerText()).toBe('Theme: light');
    expect(await watched.page.evaluate(ground)).toBe('rgb(244, 245, 243)');
    await watched.page.reload();
    await watched.is('live');
    expect(await watched.page.evaluate(ground)).toBe('rgb(244, 245, 243)');
    await button.click();
    expect(await watched.page.evaluate(ground)).toBe('rgb(16, 20, 19)');
    watched.expectQuiet(/status of 404/);
  });

  test('a phone shows the page without horizontal scrolling, and a touch chooses a block', async () => {
    const { view, window, tell, url } = await fakeArchive();
    const blob = view.add(blobOf(bytesOf(300)));
    window.show(fullWindow(), { blocksNotDrawn: 80 });
    tell({ conditions: [{ ...CONDITION, message: `A word without an end: ${'x'.repeat(300)}` }] });
    const watched = await WatchedPage.open(browser, url, {
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      isMobile: true,
    });
    await watched.is('live');
    await watched.page.getByText('80 older blocks are not drawn').waitFor();
    const wide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)';
    expect(await watched.page.evaluate(wide)).toBe(360);
    await watched.page.locator('#picture').scrollIntoViewIfNeeded();
    const box = await watched.page.locator('#picture').boundingBox();
    await watched.page.touchscreen.tap((box?.x ?? 0) + 100, (box?.y ?? 0) + 100);
    const chosen = Number(await watched.page.locator('#blocks').inputValue());
    expect(chosen).toBeGreaterThan(12_000);
    expect(chosen).toBeLessThan(12_149);
    await watched.page.getByText(`Block ${chosen.toLocaleString('en')}`).waitFor();
    await watched.lookUp(blob.versionHash);
    expect(await watched.page.evaluate(wide)).toBe(360);
    await watched.screenshot('phone');
    await watched.expectAccessible();
    watched.expectQuiet(/status of (404|503)/);
  });

  test('the keyboard reaches every part, and the focus is visible', async () => {
    const { view, window, url } = await fakeArchive();
    const blob = view.add(blobOf(bytesOf(300)));
    window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8, [windowBlob(2), windowBlob(3)])]);
    const watched = await WatchedPage.open(browser, url);
    const { page } = watched;
    await watched.is('live');
    await page.locator('#listing-body a').first().waitFor();
    const reached: string[] = [];
    for (let press = 0; press < 40; press += 1) {
      await page.keyboard.press('Tab');
      const [name, outline] = String(
        await page.evaluate(
          `(() => { const e = document.activeElement; const s = getComputedStyle(e); return (e.id || e.getAttribute('data-key') || e.getAttribute('aria-label') || e.textContent.trim()) + '|' + (e === document.body ? 'none' : s.outlineStyle); })()`,
        ),
      ).split('|');
      if (name === undefined || outline === 'none') break;
      expect(outline, name).not.toBe('none');
      reached.push(name);
    }
    expect(reached.slice(0, 3)).toEqual(['Skip to look-up', 'theme', 'look-up-input']);
    for (const part of [
      'look-up-input',
      'order',
      'page-back',
      'page-on',
      'Replicas as a table',
      'All blobs as a table',
    ]) {
      expect(reached).toContain(part);
    }
    expect(new Set(reached).size).toBe(reached.length);
    await page.locator('#blocks').focus();
    await page.keyboard.press('ArrowLeft');
    expect(await page.locator('#blocks').getAttribute('aria-valuetext')).toContain(
      'Block 7, final, 1 blob: 1 stored, final',
    );
    await page.keyboard.press('End');
    expect(await page.locator('#blocks').getAttribute('aria-valuetext')).toContain('Block 8, not final yet, 2 blobs');
    // The focus stays on its blob while the window around it changes.
    await page.locator('#block .chips a').nth(1).focus();
    const key = await page.locator('#block .chips a').nth(1).getAttribute('data-key');
    window.show([
      windowBlock(7, [windowBlob(1)], true),
      windowBlock(8, [windowBlob(2, 'spooled'), windowBlob(3)], true),
    ]);
    await page.locator('#block').getByText('spooled').waitFor();
    expect(await page.evaluate("document.activeElement.getAttribute('data-key')")).toBe(key);
    await page.locator('#window-table summary').focus();
    await page.keyboard.press('Enter');
    await page.locator('#window-table[open] tbody tr').first().waitFor();
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('look-up-input');
    await page.keyboard.type(blob.versionHash);
    await page.keyboard.press('Enter');
    await page.locator('.check').waitFor();
    watched.expectQuiet(/status of (404|503)/);
  });

  test('a reader without a chain looks up, verifies, and says that it has no window', async () => {
    const view = new FakeArchiveView();
    const blob = view.add(blobOf(bytesOf(500)));
    const noProof = {
      kind: 'unavailable',
      reason: 'not-final',
      message: 'None is final.',
      retryAfterSeconds: 1,
    } as const;
    const reader = {
      reader: view.reader,
      proofs: async () => noProof,
      record: async () => null,
      status: () => ({ version: '0.1.0', conditions: [CONDITION] }),
      conditions: () => [CONDITION],
    };
    const options = { ...testOptions(), page: PAGE };
    const server = await createHttpServer(readerRoutes(reader, options), options);
    atEndOfTest(() => server.close());
    const { url } = await server.listen();
    const watched = await WatchedPage.open(browser, url);
    await watched.is('no-window');
    expect(await watched.text('#verdict')).toContain('This is a reader');
    expect(await watched.page.locator('#picture').isVisible()).toBe(false);
    expect(await watched.page.locator('#listing-body').isVisible()).toBe(false);
    await watched.page.getByText(CONDITION.message).waitFor();
    expect(await watched.lookUp(blob.versionHash)).toBe('pending');
    expect(await watched.text('#look-up-result')).toContain('their keccak256 is the version hash');
    expect(await watched.text('#look-up-result')).toContain('This reader has no catalog: it keeps no records');
    await watched.screenshot('reader');
    // The chain's own form of the name carries the hash type, and finds the blob too.
    const other = view.add(blobOf(bytesOf(501), 'blake2s256'));
    expect(await watched.lookUp(`01${other.versionHash}`)).toBe('pending');
    expect(await watched.text('#look-up-result')).toContain('their blake2s256 is the version hash');
    await watched.expectAccessible();
    watched.expectQuiet(/status of 503/);
  });
});
