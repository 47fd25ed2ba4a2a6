import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startArchive, startNode, untilStored } from '../e2e/archive-process.ts';
import { publish } from '../e2e/backends/real-backends.ts';
import { eventually } from '../e2e/eventually.ts';
import { startReader } from '../e2e/serve/reader-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  declaredFamilies,
  declaredForReaders,
  familyOf,
  metricsTable,
  parseScrape,
  type ScrapedSample,
} from './metrics-table.ts';

const UNITS =
  /_(seconds|bytes|blobs|blocks|ratio|total|info|timestamp_seconds)$|^holdfast_(condition|node_up|backend_up|peer_up|peer_comparison_whole|canary_good|task_failed|task_running)$/;

async function scrape(url: string): Promise<string> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return await answer.text();
}

describe('the table of metrics', () => {
  test('is what the rooms declare', async () => {
    await expect(metricsTable(declaredFamilies())).toMatchFileSnapshot('../../config/METRICS.md');
  });

  test('a name says its unit', () => {
    const ours = declaredFamilies().filter(({ name }) => name.startsWith('holdfast_'));
    expect(ours.map(({ name }) => name).filter((name) => !UNITS.test(name))).toEqual([]);
    expect(ours.filter(({ help }) => !/^\S.*\.$/.test(help))).toEqual([]);
  });
});

describe('a live scrape of the assembled daemon', () => {
  test('has what the table has, and nothing else; its figures are those of the archive', async () => {
    const node = await startNode();
    const daemon = await startArchive({ dataDir: temporaryFolder(), node });
    const published = publish(node, 'metrics', 12);
    await untilStored(daemon, 12);
    await daemon.client.get('/nowhere');
    const text = await eventually(async () => {
      const scraped = await scrape(daemon.client.url);
      expect(value(parseScrape(scraped).samples, 'holdfast_content_blobs', { state: 'stored' })).toBe(12);
      expect(value(parseScrape(scraped).samples, 'holdfast_walk_lag_blocks')).toBe(0);
      return scraped;
    });
    const { types, samples } = parseScrape(text);
    const declared = new Map(declaredFamilies().map((family) => [family.name, family]));

    expect([...types.keys()].toSorted()).toEqual([...declared.keys()].toSorted());
    expect([...types].filter(([name, type]) => declared.get(name)?.type !== type)).toEqual([]);
    const unknownLabels = samples.filter(({ name, labels }) => {
      const known = ['le', 'quantile', ...(declared.get(familyOf(name, types))?.labels ?? [])];
      return Object.keys(labels).some((label) => !known.includes(label));
    });
    expect(unknownLabels).toEqual([]);

    const { node: status } = await daemon.client.status();
    expect(value(samples, 'holdfast_node_height_blocks')).toBe(status.height);
    expect(value(samples, 'holdfast_node_up')).toBe(1);
    const states = samples.filter(({ name }) => name === 'holdfast_content_blobs');
    expect(Object.fromEntries(states.map(({ labels, value: count }) => [labels['state'], count]))).toEqual({
      seen: 0,
      spooled: 0,
      stored: 12,
      withheld: 0,
      custom: 0,
    });
    expect(value(samples, 'holdfast_local_bytes')).toBe(published.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    expect(value(samples, 'holdfast_backend_queue_blobs', { backend: 'local' })).toBe(0);
    expect(value(samples, 'holdfast_scrape_faults_total')).toBeUndefined();
    // Nothing waits: a number would be a claim.
    expect(value(samples, 'holdfast_unspooled_slack_seconds')).toBeUndefined();
    expect(value(samples, 'holdfast_http_requests_total', { route: 'none', method: 'GET', status: '404' })).toBe(1);
    expect(
      value(samples, 'holdfast_node_call_duration_seconds_count', { method: 'getnevmblobdata', outcome: 'answered' }),
    ).toBeGreaterThan(0);
    // Bounded labels: no hash is one.
    for (const { versionHash } of published) expect(text).not.toContain(versionHash);
  });

  test('a stateless reader has its part of the table', async () => {
    const withheld = join(temporaryFolder(), 'withheld');
    writeFileSync(withheld, '');
    const reader = await startReader({
      HOLDFAST_IPFS_API_URL: 'http://127.0.0.1:9',
      HOLDFAST_WITHHELD_FILE: withheld,
    });
    const { types, samples } = parseScrape(await scrape(reader.client.url));
    expect([...types.keys()].toSorted()).toEqual(declaredForReaders().map(({ name }) => name));
    expect(value(samples, 'holdfast_build_info', { command: 'serve' })).toBe(1);
    expect(value(samples, 'holdfast_backend_up', { backend: 'ipfs' })).toBeDefined();
  });

  test('a blob that the node does not give shows as slack that shrinks, and as failing', async () => {
    const node = await startNode();
    const refused = node.faults.add({ fault: { kind: 'warming-up' }, methods: ['getnevmblobdata'] });
    const daemon = await startArchive({ dataDir: temporaryFolder(), node });
    publish(node, 'kept back', 1);
    await eventually(async () => {
      const { samples } = parseScrape(await scrape(daemon.client.url));
      expect(value(samples, 'holdfast_unspooled_slack_seconds')).toBe(21_600);
      expect(value(samples, 'holdfast_content_blobs', { state: 'seen' })).toBe(1);
    });
    refused.remove();
    await untilStored(daemon, 1);
  });
});

function value(samples: readonly ScrapedSample[], name: string, labels: Readonly<Record<string, string>> = {}) {
  return samples.find(
    (sample) => sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
  )?.value;
}
