import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundlePage } from '../src/app/bundle-page.ts';

/** The last step of `npm run build`: the files of the page, beside the compiled program. */
const folder = fileURLToPath(new URL('../dist/page', import.meta.url));
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const [name, bytes] of await bundlePage()) await writeFile(join(folder, name), bytes);
