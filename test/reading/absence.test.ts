import { expect, test } from 'vitest';
import { Absence } from '../../src/reading/absence.ts';
import { openCatalog, sighting } from '../catalog/catalog-in-folder.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

const NAME = nameOf(sampleBlob('unknown', 1));

/** Everything is current and denies the name; `meanwhile` runs while the backends are asked. */
function asked(meanwhile: (now: { list: boolean; walk: boolean; conflict: boolean }) => void) {
  const catalog = openCatalog();
  const now = { list: true, walk: true, conflict: false };
  const absence = new Absence({
    catalog,
    holders: {
      of: async () => {
        meanwhile(now);
        return null;
      },
    },
    poller: {
      isListed: () => false,
      isListCurrent: () => now.list,
      readAgain: async () => true,
      noteListedElsewhere: () => {},
    },
    lists: { isOfSeveral: false, read: () => Promise.reject(new Error('There is one node.')) },
    catalogRebuild: { isDone: true },
    chain: {
      get isCurrent() {
        return now.walk;
      },
      get hasConflict() {
        return now.conflict;
      },
    },
  });
  return { catalog, answer: () => absence.of(NAME, NEVER) };
}

test('a name that nothing has is absent', async () => {
  expect(await asked(() => {}).answer()).toEqual({ kind: 'absent' });
});

test.each([
  ['the list went out of date', { list: false }],
  ['a block came that is not walked', { walk: false }],
  ['two nodes came to differ', { conflict: true }],
])('no name is absent where %s while the backends were asked', async (_what, changed) => {
  const { answer } = asked((now) => Object.assign(now, changed));
  expect(await answer()).toMatchObject({ kind: 'unavailable', reason: 'cannot-tell' });
});

test('a name that a block brought into the queue while the backends were asked is not absent', async () => {
  const { catalog, answer } = asked(() => catalog.noteListed([{ ...sighting('unknown'), ...NAME }]));
  expect(await answer()).toMatchObject({ kind: 'unavailable', reason: 'not-fetched-yet' });
});
