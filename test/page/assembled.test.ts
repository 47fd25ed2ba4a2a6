import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { SharedByTests } from '../cleanup.ts';
import { Scene } from '../scenario/archive-on-devnode.ts';
import { type Browser, describeInBrowser, launchChromium } from './chromium.ts';
import { WatchedPage } from './watched-page.ts';

const shared = new SharedByTests();
let browser: Browser;

describeInBrowser('the page of the assembled daemon on an emulated node', () => {
  beforeAll(async () => {
    browser = await launchChromium(shared.atEnd);
  });
  afterAll(shared.close);

  test('the picture shows a new block without a reload', async () => {
    const scene = await (await Scene.create({ time: 'real' })).start();
    scene.mine(4, 5);
    await scene.caughtUp();
    const watched = await WatchedPage.open(browser, scene.url);
    const { page } = watched;
    await watched.is('live');
    await page.locator(`#blocks[max="${scene.node.chain.tip.height}"]`).waitFor({ state: 'attached' });
    expect(await watched.text('#verdict')).toContain('Nothing is at risk');
    scene.mine(1, 3);
    const height = scene.node.chain.tip.height;
    await page.locator(`#blocks[max="${height}"]`).waitFor({ state: 'attached' });
    // The picture follows the newest block and names its blobs.
    await page.locator(`.chosen[data-height="${height}"]`).waitFor({ state: 'attached' });
    await page.locator('#block .chips li').nth(2).waitFor();
    await page.locator('#block').getByText('stored').nth(2).waitFor();
    expect(await page.locator('#block .chips li').count()).toBe(3);
    // The next block brings a ChainLock, which makes the block final.
    await page.locator('#blocks').press('ArrowLeft');
    await page.locator('#block').getByText('stored, final').first().waitFor();
    await watched.screenshot('live');
    watched.expectQuiet();
  });

  test('a look-up finds each name of a blob, and the browser verifies bytes and inclusion', async () => {
    const scene = await (await Scene.create({ time: 'real' })).start();
    scene.mine(3, 3);
    await scene.caughtUp();
    await scene.finalUpTo(scene.node.chain.tip.height - 1);
    const watched = await WatchedPage.open(browser, scene.url);
    await watched.is('live');
    const keccak = scene.blobs.find(({ hashType }) => hashType === 'keccak256');
    const blake = scene.blobs.find(({ hashType }) => hashType === 'blake2s256');
    if (keccak === undefined || blake === undefined) throw new Error('There is one of each.');
    const names = [
      [keccak, keccak.versionHash],
      [keccak, `0x${keccak.versionHash}`],
      [keccak, keccak.versionHash.toUpperCase()],
      [keccak, keccak.txid],
      [blake, `01${blake.versionHash}`],
      [blake, `0x01${blake.versionHash}`],
      [blake, ` ${blake.versionHash} `],
      [blake, blake.txid],
    ] as const;
    for (const [blob, name] of names) {
      expect(await watched.lookUp(name), name).toBe('verified');
      const result = await watched.text('#look-up-result');
      expect(result).toContain(blob.versionHash);
      expect(result).toContain(blob.txid);
      expect(result).toContain(`their ${blob.hashType} is the version hash`);
      expect(result).toContain('Only a node can tell whether that header is part of its chain.');
      expect(result).toContain('Verified in this browser: bytes and inclusion');
      expect(result).toContain('work of 2^1 hashes, which any computer does in seconds, by the rules of regtest.');
    }
    const download = watched.page.waitForEvent('download');
    await watched.page.getByRole('button', { name: /^Download/ }).click();
    const file = await (await download).path();
    expect(new Uint8Array(await readFile(file))).toEqual(blake.bytes);
    await watched.screenshot('verified');
    await watched.expectAccessible();
    // The page tries the text as a version hash first. The browser logs its 404, or the 503 of a starved node's archive.
    watched.expectQuiet(/status of (404|503)/);
  });

  test('a blob that is not final has verified bytes, and its proof is pending', async () => {
    const scene = await (await Scene.create({ node: { chainLocks: { kind: 'none' } }, time: 'real' })).start();
    scene.mine(2, 1);
    await scene.caughtUp();
    const watched = await WatchedPage.open(browser, scene.url, { at: `/#/${scene.blobs[0]?.versionHash}` });
    expect(await watched.outcome()).toBe('pending');
    expect(await watched.text('.check')).toContain('No occurrence of it is final yet');
    expect(await watched.page.getByRole('button', { name: /^Download/ }).count()).toBe(1);
    // The browser logs each 503 on its console.
    watched.expectQuiet(/status of 503/);
  });

  test('a look-up reports an unknown hash and a malformed name', async () => {
    const scene = await (await Scene.create({ time: 'real' })).start();
    scene.mine(2, 1);
    await scene.caughtUp();
    const watched = await WatchedPage.open(browser, scene.url);
    await watched.is('live');
    const input = watched.page.locator('#look-up-input');
    const message = watched.page.locator('#look-up-message');
    await watched.isTold('ab'.repeat(32), 'There is no blob with version hash');
    for (const nonsense of ['xyz', `${'ab'.repeat(32)}0`, '../../admin', '<b>', '01'.repeat(40)]) {
      await input.fill(nonsense);
      await input.press('Enter');
      await watched.page.locator('#look-up-input[aria-invalid="true"]').waitFor();
      expect(await message.innerText()).toContain('must be 64 hex characters');
    }
    watched.expectQuiet(/status of (404|503)/);
  });

  test('the listing pages forward and back', async () => {
    const scene = await (await Scene.create({ time: 'real' })).start();
    scene.mine(5, 9);
    await scene.caughtUp();
    await scene.finalUpTo(scene.node.chain.tip.height - 1);
    const watched = await WatchedPage.open(browser, scene.url);
    const { page } = watched;
    const hashes = async () =>
      z
        .array(z.string())
        .parse(
          await page.evaluate("[...document.querySelectorAll('#listing-body a')].map((link) => link.hash.slice(-64))"),
        );
    await page.getByText('Page 1, as of').waitFor();
    const pages = [await hashes()];
    for (const number of [2, 3]) {
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText(`Page ${number}, as of`).waitFor();
      pages.push(await hashes());
    }
    expect(pages.flat().toSorted()).toEqual(scene.blobs.map(({ versionHash }) => versionHash).toSorted());
    expect(pages.map((one) => one.length)).toEqual([20, 20, 5]);
    expect(await page.getByRole('button', { name: 'Next' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByText('Page 2, as of').waitFor();
    expect(await hashes()).toEqual(pages[1]);
    await page.getByLabel('Order').selectOption('oldest');
    await page.getByText('Page 1, as of').waitFor();
    expect((await hashes())[0]).toBe(pages.at(-1)?.at(-1));
    await page.locator('#listing-body a').first().click();
    expect(await watched.outcome()).toBe('verified');
    watched.expectQuiet();
  });
});
