import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TokenList } from '../../src/http/token-list.ts';
import type { ContentRecord } from '../../src/view/archive-view.ts';
import { SharedByTests } from '../cleanup.ts';
import { blobOf, bytesOf, HEALTHY, recordOf } from '../http/fake-archive-view.ts';
import { windowBlob, windowBlock } from '../http/fake-window-view.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { fakeArchive } from './fake-archive.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
let browser: Browser;

const EVIL = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '"><svg onload=alert(1)>',
  "';alert(1)//",
  'javascript:alert(1)',
  '\u202Eevil\u0000\u2028{{7*7}}',
  '</title></style></textarea>',
];
const all = EVIL.join(' ');
const TOKEN = 'a-token-that-reads';

describeInBrowser('hostile data', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test('hostile text is shown as text everywhere, and nothing of it runs', async () => {
    const { view, window, tell, url } = await fakeArchive();
    const blob = view.add(blobOf(bytesOf(200)));
    const failure = { code: all, message: all, attempts: 3 };
    const evil: ContentRecord = {
      ...recordOf(blob),
      seenAt: all,
      spooledAt: all,
      storedAt: all,
      replicas: [{ backend: all, state: 'good', verifiedAt: all, lastFailure: failure }],
      lastFailure: failure,
    };
    view.record = async () => ({ kind: 'found', record: evil });
    view.listing = () => ({ records: [evil], next: all });
    window.show([windowBlock(7, [windowBlob(1)])], {
      backends: [{ backend: all, counts: false, good: 1, wanted: 0, damaged: 1 }],
    });
    tell({
      version: all,
      node: { ...HEALTHY.node, name: all, calls: { [all]: 1, ['__proto__']: 2 } },
      chain: { ...HEALTHY.chain, finality: all },
      backends: [
        { id: all, state: 'left-alone', oldestQueuedSeconds: null, queued: 1, damaged: 0, freeBytes: null, rule: all },
      ],
      conditions: [{ code: all, message: all, hint: all, since: all, severity: 'error', blocksReadiness: true }],
    });
    const watched = await WatchedPage.open(browser, url);
    const { page } = watched;
    await watched.is('live');
    await watched.lookUp(blob.versionHash);
    await page.locator('#listing-body tr').first().waitFor();
    for (const place of [
      '#alarms',
      '#archive',
      '#backends-body',
      '#look-up-result',
      '#verdict-detail',
      '#version',
      '#listing-body',
    ]) {
      expect(await page.locator(place).textContent(), place).toContain('<img src=x onerror=alert(1)>');
    }
    expect(
      await page.locator('img, script:not([src]), iframe, [onerror], [onload], a[href^="javascript"]').count(),
    ).toBe(0);
    await watched.screenshot('hostile');
    watched.expectQuiet(/status of (404|503)/);
  });

  test.each(EVIL)('a look-up treats an address with %j in it as text and refuses it', async (evil) => {
    const { window, url } = await fakeArchive();
    window.show([windowBlock(7)]);
    const watched = await WatchedPage.open(browser, url, { at: `/#/${evil}` });
    await watched.page.locator('#look-up-message.bad').waitFor();
    expect(await watched.text('#look-up-message')).toContain('must be 64 hex characters');
    watched.expectQuiet();
  });

  test('the page shows a problem document, or the page of a proxy, as text', async () => {
    const { window, url } = await fakeArchive();
    window.show([windowBlock(7)]);
    const watched = await WatchedPage.open(browser, url);
    const { page } = watched;
    // While one way of answering stays, taking another back does not end the interception of requests.
    await page.route('**/never-asked-for', (route) => route.abort());
    await watched.is('live');
    const message = page.locator('#look-up-message');
    const problem = JSON.stringify({ code: 'blob/absent', detail: all, hint: all });
    for (const [status, body, says] of [
      [404, problem, '<script>alert(1)</script>'],
      [500, '<html><script>alert(1)</script>', 'status 500'],
      [502, '', 'status 502'],
      [200, '<html>', 'JSON'],
    ] as const) {
      await page.route('**/v1/**', (route) => route.fulfill({ status, body }));
      await page.locator('#look-up-input').fill('ab'.repeat(32));
      await page.getByRole('button', { name: 'Look up' }).click();
      await message.getByText(says).waitFor();
      await page.unroute('**/v1/**');
    }
    watched.expectQuiet(/status of (404|500|502)/);
  });

  test('an answer of another shape, or with words of a later version, is never shown as good', async () => {
    const { window, url } = await fakeArchive();
    window.show([windowBlock(7, [windowBlob(1)], true)]);
    const watched = await WatchedPage.open(browser, url);
    const { page } = watched;
    // While one way of answering stays, taking another back does not end the interception of requests.
    await page.route('**/never-asked-for', (route) => route.abort());
    await watched.is('live');
    const whole = await (await fetch(`${url}/v1/window`)).text();
    const event = (data: string) => `event: window\nid: x.1\ndata: ${data}\n\n`;
    await page.route('**/v1/events', (route) =>
      route.fulfill({ body: event(whole.replaceAll('"state":"stored"', '"state":"better-than-stored"')) }),
    );
    await page.reload();
    await page.locator('#picture .mark.unknown').waitFor({ state: 'attached' });
    expect(await page.locator('#picture .mark.final').count()).toBe(0);
    for (const broken of ['{}', 'null', '{"blocks":1}', 'not json', whole.replace('"blocks":[', '"blocks":[7,')]) {
      await page.unroute('**/v1/events');
      await page.route('**/v1/events', (route) => route.fulfill({ body: event(broken) }));
      await page.reload();
      await watched.is('lost');
      expect(await watched.text('#verdict')).toContain('Connection lost since');
      expect(await watched.text('#verdict')).toContain('cannot tell whether blobs are at risk');
    }
    watched.expectQuiet();
  });

  test('the page asks for a token when reading needs one, and the tab alone keeps it', async () => {
    const hash = createHash('sha256').update(TOKEN).digest('hex');
    const { view, window, url } = await fakeArchive({ readTokens: TokenList.parse(`sha256:${hash}`, 'tokens') });
    const blob = view.add(blobOf(bytesOf(200)));
    window.show([windowBlock(7)]);
    const watched = await WatchedPage.open(browser, url);
    const { page } = watched;
    await watched.is('needs-token');
    // Nothing is known yet of peers and statements, so nothing is said of them.
    expect(await page.getByText('compares itself with no other').isVisible()).toBe(false);
    expect(await page.locator('#attested-note').isVisible()).toBe(false);
    await watched.screenshot('token');
    await watched.expectAccessible();
    expect(await page.evaluate('document.activeElement.id')).toBe('token');
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('The archive does not accept that token.').waitFor();
    await page.locator('#token').fill('no header\ncan carry this ü');
    await page.keyboard.press('Enter');
    await page.getByText('The archive does not accept that token.').waitFor();
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await watched.is('live');
    expect(await page.locator('#token-form').isVisible()).toBe(false);
    await watched.lookUp(blob.versionHash);
    expect(await watched.text('#look-up-result')).toContain('their keccak256 is the version hash');
    await page.reload();
    await watched.is('live');
    expect(await page.evaluate('JSON.stringify([localStorage, document.cookie, location.href])')).not.toContain(TOKEN);
    const other = await page.context().newPage();
    await other.goto(url);
    await other.locator('html[data-live="needs-token"]').waitFor();
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await watched.is('needs-token');
    watched.expectQuiet(/status of (401|404|503)/);
  });
});
