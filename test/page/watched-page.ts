import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { z } from 'zod';
import { atEndOfTest } from '../cleanup.ts';
import type { Browser, BrowserContextOptions } from './chromium.ts';

const SCREENSHOTS = fileURLToPath(new URL('../../test-output/page', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE_MS = 30_000;

const violations = z.array(
  z.object({ id: z.string(), help: z.string(), nodes: z.array(z.object({ html: z.string() })) }),
);

/** A page in a context of its own, and everything that it did besides what was asked of it. */
export class WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the console (of the content security policy too), uncaught errors, dialogs. */
  readonly complaints: string[] = [];
  /** Addresses that are not of the archive. */
  readonly strayed: string[] = [];

  private constructor(page: Page, url: string) {
    this.page = page;
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('dialog', (dialog) => {
      this.complaints.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      const isOwn = request.url().startsWith(`${url}/`) || /^(data|blob):/.test(request.url());
      if (!isOwn) this.strayed.push(request.url());
    });
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions & { at?: string } = {}) {
    const { at = '/', ...rest } = options;
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...rest });
    atEndOfTest(() => context.close());
    const watched = new WatchedPage(await context.newPage(), url);
    await watched.page.goto(`${url}${at}`);
    return watched;
  }

  /** Waits until the page says of itself that it is so: `live`, `lost`, `no-window`, `needs-token`. */
  async is(live: string): Promise<void> {
    await this.page.locator(`html[data-live="${live}"]`).waitFor();
  }

  async text(selector: string): Promise<string> {
    return await this.page.locator(selector).innerText();
  }

  /** Looks something up as a person does, and waits for the verdict. */
  async lookUp(text: string): Promise<string | null> {
    // Else the verdict of the look-up before is there until the page has begun with this one.
    await this.page.locator('#look-up-result').evaluate('(result) => result.replaceChildren()');
    await this.page.locator('#look-up-input').fill(text);
    await this.page.getByRole('button', { name: 'Look up' }).click();
    return await this.outcome();
  }

  /** `verified`, `not-verified`, `pending`. */
  async outcome(): Promise<string | null> {
    const check = this.page.locator('.check');
    await check.waitFor();
    return await check.getAttribute('data-outcome');
  }

  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  }

  /** What axe-core finds wrong for people who see, hear or move otherwise. */
  async expectAccessible(): Promise<void> {
    const found = await this.page.evaluate(
      `(() => { const module = undefined; ${AXE}; })(); axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    );
    expect(violations.parse(found)).toEqual([]);
  }

  /** Nothing was complained of, nothing asked for elsewhere. `but`: what the test itself brought about. */
  expectQuiet(but: RegExp = /^$/): void {
    expect(this.complaints.filter((one) => !but.test(one))).toEqual([]);
    expect(this.strayed).toEqual([]);
  }
}
