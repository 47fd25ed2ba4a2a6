import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { z } from 'zod';
import { atEndOfTest } from '../cleanup.ts';
import { eventually } from '../e2e/eventually.ts';
import type { Browser, BrowserContextOptions } from './chromium.ts';

const SCREENSHOTS = fileURLToPath(new URL('../../test-output/page', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Less than a test has, so that the failure names what did not come. */
const PATIENCE_MS = 240_000;

const violations = z.array(
  z.object({ id: z.string(), help: z.string(), nodes: z.array(z.object({ html: z.string() })) }),
);

/** A page in its own browser context that records everything it does. */
export class WatchedPage {
  readonly page: Page;
  /** Console errors and warnings (the content security policy's too), uncaught errors, dialogs. */
  readonly complaints: string[] = [];
  /** Requested addresses outside the archive. */
  readonly strayed: string[] = [];

  private constructor(page: Page, url: string) {
    this.page = page;
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
    // Holds for further pages too, and for the answers that a test fetches to alter them.
    context.setDefaultTimeout(PATIENCE_MS);
    const watched = new WatchedPage(await context.newPage(), url);
    await watched.page.goto(`${url}${at}`);
    return watched;
  }

  /** Waits until the page declares the state: `live`, `lost`, `no-window`, `needs-token`. */
  async is(live: string): Promise<void> {
    await this.page.locator(`html[data-live="${live}"]`).waitFor();
  }

  async text(selector: string): Promise<string> {
    return await this.page.locator(selector).innerText();
  }

  /** Types a text as a person does, and waits for the verdict. */
  async lookUp(text: string): Promise<string | null> {
    // The look-up begins a moment after the click: until then the test would read the previous verdict.
    await this.page.evaluate("document.querySelector('#look-up-result').replaceChildren()");
    await this.page.locator('#look-up-input').fill(text);
    await this.page.getByRole('button', { name: 'Look up' }).click();
    return await this.outcome();
  }

  /** Looks the text up until the archive says so: while it cannot tell, for a starved node, it asks to come again. */
  async isTold(text: string, says: string): Promise<void> {
    await this.page.locator('#look-up-input').fill(text);
    await eventually(async () => {
      // The look-up begins a moment after the key: until then the previous message would count.
      await this.page.evaluate("document.querySelector('#look-up-message').className = ''");
      await this.page.locator('#look-up-input').press('Enter');
      await this.page.locator('#look-up-message:is(.bad, .notice)').waitFor();
      expect(await this.text('#look-up-message')).toContain(says);
    });
  }

  /** Outcome of the look-up: `verified`, `not-verified` or `pending`. */
  async outcome(): Promise<string | null> {
    const check = this.page.locator('.check');
    await check.waitFor();
    return await check.getAttribute('data-outcome');
  }

  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  }

  /** Expects axe-core to find no accessibility violation. */
  async expectAccessible(): Promise<void> {
    const found = await this.page.evaluate(
      `(() => { const module = undefined; ${AXE}; })(); axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    );
    expect(violations.parse(found)).toEqual([]);
  }

  /** Expects no complaint and no request to another server. `but` matches complaints that the test caused. */
  expectQuiet(but: RegExp = /^$/): void {
    expect(this.complaints.filter((one) => !but.test(one))).toEqual([]);
    expect(this.strayed).toEqual([]);
  }
}
