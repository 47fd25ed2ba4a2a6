import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HandClock, MIGRATIONS, spooled } from './catalog-in-folder.ts';

const A = spooled('a');

function opener() {
  const path = join(temporaryFolder(), 'catalog.sqlite');
  let last: Catalog | null = null;
  onTestFinished(() => last?.close());
  return (place: string | null, replicasRequired = 1): Catalog => {
    last?.close();
    last = Catalog.open({
      path,
      migrationsFolder: MIGRATIONS,
      backends: ['s3'],
      ...(place === null ? {} : { places: new Map([['s3', place]]) }),
      localIsCache: true,
      replicasRequired,
      clock: new HandClock(),
    });
    last.copies.useBackends(['local', 's3']);
    return last;
  };
}

function stateAndReplicas(catalog: Catalog) {
  const [entry] = catalog.find(A.versionHash);
  const replicas = entry === undefined ? [] : catalog.placementsOf(entry);
  return { state: entry?.state, s3: replicas.find(({ backend }) => backend === 's3')?.state };
}

function stored(open: (place: string | null) => Catalog, place: string | null): Catalog {
  const catalog = open(place);
  catalog.recordSpooled([A]);
  catalog.recordProven('s3', catalog.find(A.versionHash));
  expect(stateAndReplicas(catalog)).toEqual({ state: 'stored', s3: 'good' });
  return catalog;
}

test('a backend of the same name at another place is another backend: nothing is proven of it', () => {
  const open = opener();
  stored(open, 'http://one/bucket');
  const moved = open('http://two/bucket');
  expect(moved.moved).toEqual([{ backend: 's3', from: 'http://one/bucket', to: 'http://two/bucket' }]);
  expect(stateAndReplicas(moved)).toEqual({ state: 'spooled', s3: 'wanted' });
  expect(moved.replicas.queued('s3')).toBe(1);
  expect(open('http://two/bucket').moved).toEqual([]);
});

test('the former place comes back with what was proven there', () => {
  const open = opener();
  stored(open, 'http://one/bucket');
  open('http://two/bucket');
  expect(stateAndReplicas(open('http://one/bucket'))).toEqual({ state: 'stored', s3: 'good' });
  expect(stateAndReplicas(open('http://two/bucket'))).toEqual({ state: 'spooled', s3: 'wanted' });
});

test('a catalog from before places were recorded keeps what was proven', () => {
  const open = opener();
  stored(open, null);
  expect(stateAndReplicas(open('http://one/bucket'))).toEqual({ state: 'stored', s3: 'good' });
  expect(stateAndReplicas(open('http://two/bucket'))).toEqual({ state: 'spooled', s3: 'wanted' });
});

test('evidence goes to the other place from the beginning', () => {
  const open = opener();
  const catalog = stored(open, 'http://one/bucket');
  catalog.evidence.put('withheld/a.json', { format: 1 });
  catalog.evidence.recordDelivered('s3', [1]);
  expect(catalog.evidence.waitingFor('s3')).toBe(0);
  expect(open('http://two/bucket').evidence.waitingFor('s3')).toBe(1);
});
