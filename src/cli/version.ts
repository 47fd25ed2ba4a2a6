import { readFileSync } from 'node:fs';

/** From package.json, beside `src` in the repository and beside the compiled tree in the package. */
export const VERSION: string = versionIn(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** Without a schema: `--version` loads none. */
function versionIn(manifest: string): string {
  const read: unknown = JSON.parse(manifest);
  if (typeof read === 'object' && read !== null && 'version' in read && typeof read.version === 'string') {
    return read.version;
  }
  throw new TypeError('package.json says no version');
}
