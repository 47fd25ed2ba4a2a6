import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { FairTurns } from '../../src/http/fair-turns.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { sampleBlob } from '../sample-blobs.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FileView } from './fake-file.ts';
import { running } from './harness.ts';
import { get, RawClient } from './raw-client.ts';

test('a client begins so many a turn, in the order of its coming, and another client does not wait behind it', async () => {
  const turns = new FairTurns(2);
  const begun: string[] = [];
  const ask = (client: string, ...names: string[]) => {
    for (const name of names) turns.take(client, () => begun.push(name));
  };
  ask('a', 'a1', 'a2', 'a3', 'a4', 'a5');
  ask('b', 'b1');
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await nextTurn();
  ask('a', 'a6');
  ask('b', 'b2');
  expect(begun.slice(3)).toEqual(['a3', 'a4', 'b2']);
  await nextTurn();
  expect(begun.slice(6)).toEqual(['a5', 'a6']);
  await nextTurn();
  ask('a', 'a7');
  expect(begun.slice(8)).toEqual(['a7']);
});

test('a request that comes behind two hundred of another client is begun among the first of them', async () => {
  const view = new FakeArchiveView();
  const flooded = view.add(blobOf(bytesOf(10)));
  const wanted = view.add(blobOf(bytesOf(20)));
  const begun: string[] = [];
  const record = view.record.bind(view);
  view.record = (name, ...rest) => {
    begun.push(name.versionHash);
    return record(name, ...rest);
  };
  const { port } = await running(view, {}, new FakeChainView(), { trustProxy: 1 });
  const clients = await Promise.all(Array.from({ length: 201 }, () => RawClient.open(port)));
  // The system hands connections over one by one.
  for (const client of clients) client.send(get('/healthz'));
  await Promise.all(clients.map((client) => client.until((text) => text.includes('200 OK'))));
  for (const [index, client] of clients.entries()) {
    const [{ versionHash }, from] = index === 200 ? [wanted, '192.0.2.2'] : [flooded, '192.0.2.1'];
    client.send(get(`/v1/blobs/${versionHash}/record`, { 'X-Forwarded-For': from }));
  }
  await Promise.all(clients.map((client) => client.until((text) => text.split('200 OK').length === 3)));
  expect(begun).toHaveLength(201);
  expect(begun.indexOf(wanted.versionHash)).toBeLessThan(100);
});

test('metrics wait behind nothing that their client asks beside them', async () => {
  const view = new FakeArchiveView();
  const { versionHash } = view.add(blobOf(bytesOf(10)));
  const metrics = declareHttpMetrics(new MetricsRegistry());
  const begun: string[] = [];
  const record = view.record.bind(view);
  view.record = (name, ...rest) => {
    begun.push('record');
    return record(name, ...rest);
  };
  const scrape = async () => {
    begun.push('metrics');
    return '';
  };
  const { port } = await running(view, {}, new FakeChainView(), { metrics: { ...metrics, scrape } });
  const clients = await Promise.all(Array.from({ length: 101 }, () => RawClient.open(port)));
  for (const client of clients) client.send(get('/healthz'));
  await Promise.all(clients.map((client) => client.until((text) => text.includes('200 OK'))));
  for (const [index, client] of clients.entries()) {
    client.send(get(index === 100 ? '/metrics' : `/v1/blobs/${versionHash}/record`));
  }
  await Promise.all(clients.map((client) => client.until((text) => text.split('200 OK').length === 3)));
  expect(begun).toHaveLength(101);
  expect(begun.indexOf('metrics')).toBeLessThan(50);
});

test('a reader that goes away while its part waits its turn has nothing read of a closed file', async () => {
  const view = new FileView(sampleBlob('for its name', 10), 24 * 1_048_576);
  const { port, reported } = await running(view);
  const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(port)));
  for (const client of clients) client.send(get(`/v1/blobs/${view.name.versionHash}`));
  await Promise.all(clients.map((client) => client.until((text) => text.includes('\r\n\r\n'))));
  for (const client of clients) client.socket.destroy();
  await expect.poll(() => view.opened).toBe(0);
  const { reads } = view;
  await nextTurn();
  expect(view.reads).toBe(reads);
  expect(reported).toEqual([]);
});
