import { accessSync, constants } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import type { AtEnd } from '../cleanup.ts';
import { describeWhere } from '../promised.ts';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

function chromiumPath(): string | null {
  const named = process.env['CHROMIUM_PATH'];
  return (named === undefined ? PATHS : [named]).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Declares a suite that needs a real browser. */
export const describeInBrowser = describeWhere(chromiumPath() !== null, 'no Chromium is here; set CHROMIUM_PATH');

export async function launchChromium(atEnd: AtEnd): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error('No Chromium is here to look at the page: apt-get install chromium.');
  // A container gives the browser no namespaces, so its sandbox is off. It loads pages of this repository only.
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  // A starved machine takes longer than the 30 s of the default.
  const browser = await chromium.launch({ executablePath, args, timeout: 240_000 });
  atEnd(() => browser.close());
  return browser;
}

export type { Browser, BrowserContextOptions };
