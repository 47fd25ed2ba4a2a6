import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedByTests } from '../cleanup.ts';
import { startArchive, startNode, untilStored } from '../e2e/archive-process.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { freePort } from '../servers/child-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
let browser: Browser;

describeInBrowser('a daemon that goes away and comes back', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'the page shows a loss of connection by %s at once, ages the old window, and recovers by itself',
    async (signal) => {
      const node = await startNode({ workload: null });
      const setup = { dataDir: temporaryFolder(), node, env: { HOLDFAST_HTTP_PORT: String(await freePort()) } };
      node.submitBlob(sampleBytes('first', 100));
      node.mine();
      const daemon = await startArchive(setup);
      await untilStored(daemon, 1);
      const watched = await WatchedPage.open(browser, daemon.client.url);
      const { page } = watched;
      await watched.is('live');
      await page.locator(`#blocks[max="${node.chain.tip.height}"]`).waitFor({ state: 'attached' });
      daemon.kill(signal);
      await daemon.ended;
      await watched.is('lost');
      expect(await watched.text('#verdict')).toMatch(/Connection lost since \d\d:\d\d:\d\d/);
      expect(await watched.text('#verdict')).toMatch(/The window below was current at \d\d:\d\d:\d\d/);
      expect(await page.locator('#verdict').getAttribute('data-tone')).toBe('unknown');
      expect(await watched.text('#connection')).toMatch(/^not connected/);
      expect(await page.evaluate("getComputedStyle(document.querySelector('.live-only')).filter")).toBe('grayscale(1)');
      expect(await page.title()).toMatch(/^\? Connection lost/);
      await watched.screenshot(`lost-${signal}`);
      await watched.expectAccessible();
      node.submitBlob(sampleBytes('second', 100));
      node.mine();
      const again = await startArchive(setup);
      await untilStored(again, 2);
      await page
        .getByRole('button', { name: 'Try now' })
        .click({ timeout: 2_000 })
        .catch(() => undefined);
      await watched.is('live');
      await page.locator(`#blocks[max="${node.chain.tip.height}"]`).waitFor({ state: 'attached' });
      await page.locator('#verdict[data-tone="good"]').waitFor();
      expect(await page.evaluate("getComputedStyle(document.querySelector('.live-only')).filter")).toBe('none');
      watched.expectQuiet(
        /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE/,
      );
    },
  );
});
