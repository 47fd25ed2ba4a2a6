import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifest = z.object({ version: z.string() });

/** From package.json, beside `src` in the repository and beside the compiled tree in the package. */
export const VERSION: string = manifest.parse(
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')),
).version;
