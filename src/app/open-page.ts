import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../core/blob/errors.ts';
import type { Logger } from '../core/observability/logger.ts';
import type { PageFiles, PageSource } from '../http/index.ts';

/** Beside the compiled program; from source there is none. */
const BUILT = fileURLToPath(new URL('../page', import.meta.url));

/**
 * The page, had when it is first asked for: read where it was built beforehand, else built from source. No start waits for
 * it, and where it cannot be had the archive runs all the same; a later request tries again.
 */
export function openPage(log: Logger): PageSource {
  let opening: Promise<PageFiles | null> | null = null;
  return {
    files() {
      opening ??= open(log).then((files) => {
        if (files === null) opening = null;
        return files;
      });
      return opening;
    },
  };
}

async function open(log: Logger): Promise<PageFiles | null> {
  try {
    if (!import.meta.url.endsWith('.ts')) return await readFiles();
    const { bundlePage } = await import('./bundle-page.ts');
    return await bundlePage();
  } catch (error) {
    log.warn({ reason: messageOf(error), hint: 'Run npm ci, or npm run build.' }, 'the page could not be built');
    return null;
  }
}

async function readFiles(): Promise<PageFiles> {
  const names = await readdir(BUILT);
  return new Map(
    await Promise.all(
      names.map(async (name): Promise<[string, Uint8Array]> => [name, await readFile(`${BUILT}/${name}`)]),
    ),
  );
}
