import { globSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface SourceFile {
  /** From the top of the repository, with `/`: `src/ingest/poller.ts`. */
  readonly path: string;
  /** The folder under `src`, or the file itself where it lies directly in it: `ingest`, `client.ts`. */
  readonly room: string;
  readonly text: string;
  /** The text without comments and without what stands in strings. */
  readonly code: string;
  /** Files of the project that it imports, also for types alone, by their paths. */
  readonly imports: readonly string[];
  /** Packages and modules of Node that it imports. */
  readonly packages: readonly string[];
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g;
const COMMENT_OR_STRING =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*`/g;

function read(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const withoutComments = text.replace(COMMENT_OR_STRING, (found) => (found.startsWith('/') ? '' : found));
  const named = [...withoutComments.matchAll(IMPORT)].map((match) => match[1] ?? '');
  return {
    path,
    room: path.split('/')[1] ?? '',
    text,
    code: text.replace(COMMENT_OR_STRING, (found) => (found.startsWith('/') ? '' : "''")),
    imports: named.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name).split(sep).join('/')),
    packages: named.filter((name) => !name.startsWith('.')),
  };
}

/** Every file of the program, as it lies there now. */
export const SOURCE_FILES: readonly SourceFile[] = globSync('src/**/*.{ts,mjs}', { cwd: ROOT })
  .map((path) => path.split(sep).join('/'))
  .sort()
  .map(read);
