import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, type SuiteFactory, test } from 'vitest';
import { describeWithCommand } from '../../ops/with-command.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { freePort } from '../../servers/child-server.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode, stop, untilStored } from '../archive-process.ts';
import { expectAll, ipfsEnvironment, publish, s3Environment, untilDrained } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { startPrometheus } from './prometheus.ts';

const WAIT_MS = 120_000;

const describeWithBoth = (name: string, suite: SuiteFactory) =>
  describeWithServers(name, () => describeWithCommand('prometheus', '(scraped)', suite));

describeWithBoth('years in some minutes', () => {
  let s3: S3Server;
  let kubo: KuboServer;
  beforeAll(async () => {
    [s3, kubo] = await Promise.all([startS3Server(), startKubo()]);
  }, SERVER_START_MS);
  afterAll(async () => {
    await Promise.all([s3.stop(), kubo.stop()]);
  });

  test('S3 and Kubo, scraped by Prometheus; an alert while a backend is away; a restart in the middle; a restore from the bucket', async () => {
    const node = await startNode();
    const { env } = await s3Environment(s3);
    const dataDir = temporaryFolder();
    const setup = {
      dataDir,
      node,
      env: {
        ...env,
        ...ipfsEnvironment(kubo),
        HOLDFAST_FINALITY: 'depth:2',
        HOLDFAST_START_HEIGHT: '1',
        HOLDFAST_HTTP_PORT: String(await freePort()),
      },
    };
    const first = await startArchive(setup);
    const prometheus = await startPrometheus(new URL(first.client.url).host);
    const before = publish(node, 'before', 10);
    node.mine(3);
    await untilStored(first, 10);
    await untilDrained(first, ['s3', 'ipfs']);
    await prometheus.untilScraped();
    // A Kubo that was let in late may have raised the alert: the next scrape ends it.
    await eventually(async () => expect(await prometheus.firing()).not.toContain('HoldfastBackendDown ipfs'));

    await kubo.kill();
    const during = publish(node, 'while Kubo is away', 10);
    await eventually(async () => expect(await prometheus.firing()).toContain('HoldfastBackendDown ipfs'));

    // A stop and a start in the middle of it, by the supervisor.
    expect(await stop(first)).toMatchObject({ code: 143 });
    const second = await startArchive(setup);
    await untilStored(second, 20);
    await expectAll(second, [...before, ...during]);

    await kubo.resume();
    await untilDrained(second, ['s3', 'ipfs'], WAIT_MS);
    await eventually(async () => expect(await prometheus.firing()).not.toContain('HoldfastBackendDown ipfs'));

    // The machine is lost, and the node has forgotten what was published.
    await stop(second);
    rmSync(dataDir, { recursive: true, force: true });
    const forgotten = node.faults.add({
      fault: { kind: 'rpc-error', code: -32602, message: 'NEVM data not found' },
      methods: ['getnevmblobdata'],
    });
    const third = await startArchive(setup);
    await untilStored(third, 20);
    await expectAll(third, [...before, ...during]);
    forgotten.remove();
    expect(await stop(third)).toMatchObject({ code: 143 });
    // Three daemons, three servers and a dozen waits.
  }, 900_000);
});
