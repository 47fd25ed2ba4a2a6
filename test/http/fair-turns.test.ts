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

/** The work that is begun, in its order; names of work are `<client><connection><number>`. */
function asking(turns: FairTurns) {
  const begun: string[] = [];
  const connections = new Map<string, object>();
  const ask = (weight: number, ...names: string[]) => {
    for (const name of names) {
      const connection = connections.get(name.slice(0, 2)) ?? {};
      connections.set(name.slice(0, 2), connection);
      turns.take({ client: name.slice(0, 1), connection }, weight, () => begun.push(name));
    }
  };
  const inNextTurn = async () => {
    const before = begun.length;
    await nextTurn();
    return begun.slice(before);
  };
  return { ask, begun, inNextTurn };
}

test('a client that asks alone has every turn, in the order of its coming', async () => {
  const { ask, begun, inNextTurn } = asking(new FairTurns(4, 1));
  ask(1, 'ax1', 'ax2', 'ax3', 'ax4', 'ax5', 'ax6', 'ax7', 'ax8', 'ax9');
  expect(begun).toEqual(['ax1', 'ax2', 'ax3', 'ax4']);
  expect(await inNextTurn()).toEqual(['ax5', 'ax6', 'ax7', 'ax8']);
  expect(await inNextTurn()).toEqual(['ax9']);
  ask(1, 'ax10');
  expect(begun).toContain('ax10');
});

test('clients have the same part of a turn, whatever they have begun before; connections of a client too', async () => {
  const { ask, begun, inNextTurn } = asking(new FairTurns(4, 1));
  ask(1, 'ax1', 'ax2', 'ax3', 'ax4', 'ax5', 'ax6', 'ax7', 'ay1', 'az1');
  ask(1, 'bx1', 'bx2', 'bx3', 'bx4', 'bx5');
  expect(begun).toEqual(['ax1', 'ax2', 'ax3', 'ax4']);
  expect(await inNextTurn()).toEqual(['bx1', 'bx2', 'bx3', 'bx4']);
  expect((await inNextTurn()).toSorted()).toEqual(['ax5', 'ay1', 'az1', 'bx5']);
  expect(await inNextTurn()).toEqual(['ax6', 'ax7']);
});

test('a client that had much at once lets those who wait have as much first', async () => {
  const { ask, begun, inNextTurn } = asking(new FairTurns(8, 2));
  ask(8, 'ax1', 'ax2');
  ask(2, 'bx1', 'bx2', 'bx3', 'bx4', 'bx5', 'bx6');
  expect(begun).toEqual(['ax1']);
  expect(await inNextTurn()).toEqual(['bx1', 'bx2', 'bx3', 'bx4']);
  expect(await inNextTurn()).toEqual(['ax2']);
  expect(await inNextTurn()).toEqual(['bx5', 'bx6']);
});

test('clients with few connections that wait have half of every turn at once, and a crowded one the rest', async () => {
  const { ask, begun, inNextTurn } = asking(new FairTurns(8, 1));
  ask(1, ...Array.from({ length: 30 }, (_, index) => `a${String.fromCharCode(97 + index)}1`));
  expect(begun).toHaveLength(8);
  expect(await inNextTurn()).toHaveLength(8);
  ask(1, 'bx1', 'bx2', 'bx3', 'bx4', 'bx5', 'cx1');
  expect(begun.slice(16)).toEqual(['bx1', 'bx2', 'bx3', 'bx4']);
  const second = await inNextTurn();
  expect(second.slice(0, 2).toSorted()).toEqual(['bx5', 'cx1']);
  expect(second.slice(2).map((name) => name.slice(0, 1))).toEqual(['a', 'a', 'a', 'a', 'a', 'a']);
  ask(1, 'bx6');
  expect(begun.at(-1)).toBe('bx6');
  expect(await inNextTurn()).toHaveLength(8);
  expect(begun.filter((name) => name.startsWith('a'))).toHaveLength(30);
});

test('work that a client had while only a crowd waited is not held against it when others come', async () => {
  const { ask, inNextTurn } = asking(new FairTurns(8, 1));
  const crowd = Array.from({ length: 26 }, (_, index) => `a${String.fromCharCode(97 + index)}`);
  for (let turn = 0; turn < 50; turn += 1) {
    ask(1, ...crowd.map((name) => `${name}${turn}`));
    await inNextTurn();
    ask(1, 'bx1', 'bx2', 'bx3', 'bx4');
  }
  ask(1, ...Array.from({ length: 20 }, (_, index) => `cx${index}`));
  ask(1, 'bx5', 'bx6');
  const begun = [...(await inNextTurn()), ...(await inNextTurn())];
  expect(begun).toContain('bx5');
  expect(begun).toContain('bx6');
});

test('a thousand readers behind one address have a part each within a few turns', async () => {
  const turns = new FairTurns(2_097_152, 32_768);
  const begun: number[] = [];
  for (let reader = 0; reader < 1_000; reader += 1) {
    turns.take({ client: 'a proxy', connection: {} }, 32_768, () => begun.push(reader));
  }
  let passed = 0;
  for (; begun.length < 1_000; passed += 1) await nextTurn();
  expect(passed).toBeLessThan(16);
  expect(begun).toEqual(Array.from({ length: 1_000 }, (_, reader) => reader));
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
  const clients = await Promise.all(Array.from({ length: 201 }, () => RawClient.open(port)));
  for (const client of clients) client.send(get('/healthz'));
  await Promise.all(clients.map((client) => client.until((text) => text.includes('200 OK'))));
  for (const [index, client] of clients.entries()) {
    client.send(get(index === 200 ? '/metrics' : `/v1/blobs/${versionHash}/record`));
  }
  await Promise.all(clients.map((client) => client.until((text) => text.split('200 OK').length === 3)));
  expect(begun).toHaveLength(201);
  expect(begun.indexOf('metrics')).toBeLessThan(150);
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
