import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SOURCE_FILES } from '../source-files.ts';

/** A backend that is named in code: its kind as a word, its classes and settings, or a file of its folder. */
const NAMED = /'(?:s3|ipfs)'|\b(?:S3|Ipfs|Kubo)[A-Z]\w*|storage\/(?:s3|ipfs)\//;

const COMMENT = /\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g;

/**
 * Files that name a bucket or a Kubo which is no backend. A backfill reads foreign buckets under its own syntax, and bundles go
 * into buckets and come out of them. The questions of `init` offer the backends that most people have.
 */
const NO_BACKENDS = [
  'src/app/open-sources.ts',
  'src/backfill/source/source-syntax.ts',
  'src/bundle/bucket-chunks.ts',
  'src/bundle/bucket-place.ts',
  'src/bundle/bundle-comparison.ts',
  'src/bundle/bundle-upload.ts',
  'src/bundle/export-bundle.ts',
  'src/bundle/source-parts.ts',
  'src/cli/init/init-questions.ts',
  'src/cli/verbs/backfill.ts',
  'src/cli/verbs/export.ts',
];

const RECIPE = readFileSync(new URL('../../src/storage/README.md', import.meta.url), 'utf8')
  .split('## Add a backend')[1]
  ?.split('\n## ')[0];

test('a backend is named in its own folder and in two other files', () => {
  const naming = SOURCE_FILES.filter(
    ({ path, text }) => NAMED.test(text.replace(COMMENT, '')) && !/^src\/storage\/(?:s3|ipfs)\//.test(path),
  )
    .map(({ path }) => path)
    .filter((path) => !NO_BACKENDS.includes(path));
  expect(naming.toSorted()).toEqual(['src/app/open-backends.ts', 'src/config/backend-list.ts']);
});

test('the recipe names those files, the store itself and its test, and no more', () => {
  const places = [...(RECIPE ?? '').matchAll(/^\d\. `([^`]+)`/gm)].map(([, place]) => place);
  expect(places).toEqual([
    'src/storage/<kind>/<kind>-store.ts',
    'src/config/backend-list.ts',
    'src/app/open-backends.ts',
    'test/storage/<kind>/<kind>-store.test.ts',
  ]);
});
