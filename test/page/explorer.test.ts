import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedByTests } from '../cleanup.ts';
import { blobOf, bytesOf } from '../http/fake-archive-view.ts';
import { windowBlob, windowBlock } from '../http/fake-window-view.ts';
import { Scene } from '../scenario/archive-on-devnode.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { fakeArchive, PAGE } from './fake-archive.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
let browser: Browser;

/** Starts a daemon with a final block of two blobs, and opens its page. */
async function explored(options: Parameters<typeof WatchedPage.open>[2] = {}) {
  const scene = await (await Scene.create({ time: 'real' })).start();
  const [mined] = scene.mine(3, 2);
  await scene.caughtUp();
  const { height } = mined ?? { height: -1 };
  await scene.finalUpTo(height);
  const watched = await WatchedPage.open(browser, scene.url, options);
  await watched.is('live');
  const [first, second] = scene.blobs;
  if (first === undefined || second === undefined) throw new Error('There are six.');
  return { scene, watched, first, second, height };
}

test('the page is at most 40 kB over the wire', async () => {
  const files = await PAGE.files();
  const sizes = [...(files ?? [])].map(([, bytes]) => gzipSync(bytes, { level: 9 }).length);
  expect(sizes).toHaveLength(3);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(40_000);
});

describeInBrowser('the explorer', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test('a person goes from a height to a block, to a blob, to its transaction, and back by addresses', async () => {
    const { watched, first, second, height } = await explored();
    const { page } = watched;
    const result = page.locator('#look-up-result');
    await page.locator('#look-up-input').fill(String(height));
    await page.keyboard.press('Enter');
    await result.getByText('Blobs of this block').waitFor();
    expect(new URL(page.url()).hash).toBe(`#/${height}`);
    expect(await result.innerText()).toContain(`Block ${height.toLocaleString('en')} final`);
    expect(await result.locator('tbody tr').count()).toBe(2);
    // Both hashes of a row are there in full, and nothing of the table has to be scrolled for.
    const table = await result.locator('table').first().boundingBox();
    expect((table?.x ?? 0) + (table?.width ?? 0)).toBeLessThanOrEqual(1280);
    await watched.screenshot('block-page');
    await watched.expectAccessible();

    await result.locator(`a[href="#/${second.versionHash}"]`).click();
    expect(await watched.outcome()).toBe('verified');
    await result.getByText('What the archive says').waitFor();
    await result.locator(`a[href="#/tx/${second.txid}"]`).click();
    await result.getByText('The blob of the transaction').waitFor();
    expect(await watched.outcome()).toBe('verified');
    expect(await result.innerText()).toContain(second.txid);
    await result.locator(`a[href="#/block/${height}"]`).click();
    await result.getByText('Blobs of this block').waitFor();
    expect(await result.innerText()).toContain(first.versionHash);
    const hash = await result.locator('dd').first().locator('.hash').innerText();
    await result.getByText(`Block ${(height + 1).toLocaleString('en')} →`).click();
    await result.getByText(`← Block ${height.toLocaleString('en')}`).waitFor();

    // Both forms of the address find the block of this hash, typed or shared.
    for (const address of [`#/block/${hash}`, `#/${hash}`]) {
      await page.goto(`${new URL(page.url()).origin}/${address}`);
      await result.getByText(`← Block ${(height - 1).toLocaleString('en')}`).waitFor();
    }
    watched.expectQuiet(/status of (404|503)/);
  });

  test('a block or transaction that the chain does not have is an error in words', async () => {
    const { watched } = await explored();
    for (const [text, says] of [
      ['9999999', 'There is no block 9999999'],
      [`tx/${'ab'.repeat(32)}`, 'No block that was walked has a transaction'],
      ['block/ab', 'must be 64 hex characters'],
    ] as const) {
      await watched.isTold(text, says);
    }
    watched.expectQuiet(/status of (404|503)/);
  });

  test('a copy button copies, a time shows UTC, and verified bytes have a preview', async () => {
    const { watched, first } = await explored({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = watched;
    expect(await watched.lookUp(first.versionHash)).toBe('verified');
    await page.getByRole('button', { name: 'Copy version hash' }).click();
    await page.getByRole('button', { name: 'Copied version hash' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(first.versionHash);
    const time = page.locator('#look-up-result time').first();
    const iso = (await time.getAttribute('datetime')) ?? '';
    expect(await time.getAttribute('title')).toBe(`${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`);
    await page.getByText('Preview of the bytes').click();
    const hex = Buffer.from(first.bytes.subarray(0, 4)).toString('hex').replace(/../g, '$& ');
    await page.locator('#preview pre', { hasText: `0000  ${hex}` }).waitFor();
    expect(await watched.text('#preview')).toMatch(/64 bytes, entropy \d\.\d\d of 8 bits a byte/);
    await watched.screenshot('blob-page');
    await watched.expectAccessible();
    watched.expectQuiet(/status of (404|503)/);
  });

  test('the most urgent blobs are listed with what keeps each, the missing ones before the durable ones', async () => {
    const { view, window, url } = await fakeArchive();
    const durable = view.add(blobOf(bytesOf(300)));
    const { versionHash, hashType } = durable;
    window.show(
      [
        windowBlock(7, [{ ...windowBlob(1, 'spooled'), versionHash, hashType }]),
        windowBlock(8, [windowBlob(2, 'stored'), windowBlob(3, 'at-risk')]),
      ],
      { atRisk: 1 },
    );
    const watched = await WatchedPage.open(browser, url, { viewport: { width: 375, height: 740 } });
    await watched.is('live');
    const rows = watched.page.locator('#urgent-body tr');
    await watched.page.locator('#urgent-body').getByText('The archive does not say why').waitFor();
    await rows.nth(1).getByText('Asking the archive').waitFor({ state: 'detached' });
    expect(await rows.count()).toBe(2);
    expect(await rows.nth(0).innerText()).toContain('at risk');
    expect(await rows.nth(1).innerText()).toContain('spooled');
    const wide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)';
    expect(await watched.page.evaluate(wide)).toBe(375);
    // The reason can be read without scrolling sideways.
    const reason = await rows.nth(0).locator('td').last().boundingBox();
    expect([reason !== null, (reason?.x ?? 0) + (reason?.width ?? 0) <= 375]).toEqual([true, true]);
    await watched.screenshot('urgent-phone');
    await watched.expectAccessible();
    window.show([windowBlock(8, [windowBlob(2, 'stored'), windowBlob(3, 'stored')])]);
    await watched.page.locator('#urgent').waitFor({ state: 'hidden' });
    watched.expectQuiet(/status of (404|503)/);
  });
});
