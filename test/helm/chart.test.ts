import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { list } from 'tar';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { everyCommand } from '../../src/cli/run-cli.ts';
import { SETTINGS } from '../../src/config/index.ts';
import { FakeArchiveView } from '../http/fake-archive-view.ts';
import { FakeChainView } from '../http/fake-chain-view.ts';
import { injectable } from '../http/harness.ts';
import { mustRun } from '../servers/command.ts';
import { goBinary } from '../servers/go-binary.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { validate } from './kubernetes-schemas.ts';
import { againstRestricted, podsOf } from './pods.ts';
import { CHART, describeWithHelm, lint, type Manifest, refusal, render, type Values } from './rendered-chart.ts';
import { MATRIX, MINIMAL } from './values-of-tests.ts';

const WAYS = Object.entries(MATRIX);
const byKind = (made: readonly Manifest[], kind: string) => made.filter((one) => one.kind === kind);

const rules = z.looseObject({
  spec: z.object({
    groups: z.array(
      z.looseObject({
        rules: z.array(z.looseObject({ alert: z.string(), annotations: z.record(z.string(), z.string()) })),
      }),
    ),
  }),
});
const ingress = z.looseObject({
  spec: z.looseObject({
    rules: z.array(
      z.object({
        host: z.string(),
        http: z.object({
          paths: z.array(
            z.object({
              path: z.string(),
              pathType: z.enum(['Exact', 'Prefix']),
              backend: z.object({ service: z.looseObject({ name: z.string() }) }),
            }),
          ),
        }),
      }),
    ),
  }),
});
type Paths = z.output<typeof ingress>['spec']['rules'][number]['http']['paths'];

/** Routes a path as Kubernetes does: exact first, else the longest prefix, by whole elements of the path. */
function routed(paths: Paths, asked: string): string | null {
  const exact = paths.find(({ path, pathType }) => pathType === 'Exact' && path === asked);
  const elements = (path: string) => path.split('/').filter((element) => element !== '');
  const isPrefix = (path: string) => elements(path).every((element, index) => elements(asked)[index] === element);
  const [longest] = paths
    .filter(({ path, pathType }) => pathType === 'Prefix' && isPrefix(path))
    .sort((a, b) => b.path.length - a.path.length);
  return (exact ?? longest)?.backend.service.name ?? null;
}

/** Ports that pods of Holdfast reach. */
async function openPorts(values: Values): Promise<ReadonlySet<number>> {
  const policies = byKind(await render(values), 'NetworkPolicy');
  const policy = z
    .looseObject({
      spec: z.looseObject({ egress: z.array(z.object({ ports: z.array(z.looseObject({ port: z.number() })) })) }),
    })
    .parse(policies.find(({ metadata }) => !metadata.name.endsWith('kubo')));
  return new Set(policy.spec.egress.flatMap((rule) => rule.ports.map(({ port }) => port)));
}

describeWithHelm('the chart', () => {
  test.each(WAYS)('%s: Helm finds nothing to complain about', async (_name, values) => {
    const { code, stdout, stderr } = await lint(values);
    expect([code, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  test.each(WAYS)('%s: Kubernetes takes every object', async (_name, values) => {
    const made = await render(values);
    expect(made.length).toBeGreaterThan(3);
    for (const manifest of made)
      expect(() => validate(manifest), `${manifest.kind} ${manifest.metadata.name}`).not.toThrow();
    const names = made.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(WAYS)('%s: every pod passes the restricted standard, on a read-only root', async (_name, values) => {
    const pods = podsOf(await render(values));
    expect(pods.flatMap(({ of, spec }) => againstRestricted(spec).map((wrong) => `${of} ${wrong}`))).toEqual([]);
    // Kubernetes would put a HOLDFAST_… variable for each service into the pods of a release of that name.
    expect(pods.filter(({ spec }) => spec.enableServiceLinks)).toEqual([]);
  });

  test('a version of the chart names that version of the program', () => {
    const version = z.object({ version: z.string() });
    const chart = version.extend({ appVersion: z.string() }).parse(parse(readFileSync(`${CHART}/Chart.yaml`, 'utf8')));
    const program = version.parse(JSON.parse(readFileSync(`${CHART}/../package.json`, 'utf8')));
    expect(chart).toMatchObject({ appVersion: program.version, version: program.version });
  });

  test('bytes are routed to the readers, what needs the catalog to the archiver, and /admin nowhere', async () => {
    const [made] = byKind(await render(MATRIX['S3 and readers']), 'Ingress');
    const { rules } = ingress.parse(made).spec;
    expect(rules.map(({ host }) => host)).toEqual(['blobs.example', 'archive.example']);
    for (const { http } of rules) {
      const to = (path: string) => routed(http.paths, path);
      const hash = 'ab'.repeat(32);
      for (const path of [
        `/v1/blobs/${hash}`,
        `/v1/blobs/${hash}/proof`,
        `/vh/${hash}`,
        `/raw/vh/${hash}`,
        `/get/0x00${hash}`,
      ]) {
        expect([path, to(path)]).toEqual([path, 'blobs-holdfast-readers']);
      }
      for (const path of [
        '/',
        '/check_vh',
        '/raw/check_vh',
        '/lastblock',
        '/v1/blobs',
        '/v1/status',
        `/v1/transactions/${hash}/data`,
      ]) {
        expect([path, to(path)]).toEqual([path, 'blobs-holdfast-archiver']);
      }
      for (const path of ['/admin', '/admin/jobs', '/metrics', '/healthz', '/v1'])
        expect([path, to(path)]).toEqual([path, null]);
    }
  });

  test('every route of the API is reached, but for those of the machine itself', async () => {
    const { inject } = injectable(new FakeArchiveView(), new FakeChainView());
    const described = z
      .object({ paths: z.record(z.string(), z.unknown()) })
      .parse((await inject('/openapi.json')).json());
    const [made] = byKind(await render(MATRIX['S3 and readers']), 'Ingress');
    const paths = ingress.parse(made).spec.rules[0]?.http.paths ?? [];
    const asked = [...Object.keys(described.paths), '/', '/page/{file}'].map((path) =>
      path.replaceAll(/\{\w+\}/g, 'x'),
    );
    expect(asked.length).toBeGreaterThan(15);
    const unreached = asked.filter((path) => routed(paths, path) === null && !path.startsWith('/admin'));
    expect(unreached.toSorted()).toEqual(['/healthz', '/metrics', '/readyz'].filter((path) => asked.includes(path)));
  });

  test('without readers the archiver answers for bytes; without an archiver nothing answers for the rest', async () => {
    const ingresses = async (values: Readonly<Record<string, unknown>>) =>
      ingress.parse(byKind(await render(values), 'Ingress')[0]).spec.rules[0]?.http.paths ?? [];
    const alone = await ingresses({ ...MINIMAL, ingress: { enabled: true, hosts: ['a.example'] } });
    expect(routed(alone, '/vh/ab')).toBe('blobs-holdfast-archiver');
    const apart = await ingresses(MATRIX['readers of a fixed number, elsewhere than the archiver']);
    expect(routed(apart, '/vh/ab')).toBe('blobs-holdfast-readers');
    expect(routed(apart, '/check_vh')).toBeNull();
  });

  test('the backfill job has a folder of its own, which goes away with it', async () => {
    const job = podsOf(await render(MATRIX['everything at once'])).find(({ component }) => component === 'backfill');
    expect(job?.spec.volumes.find(({ name }) => name === 'data')).toEqual({
      name: 'data',
      emptyDir: { sizeLimit: '20Gi' },
    });
    expect(job?.spec.containers[0]?.args).toEqual(['backfill', '--from-height', '100', '--to-height', '200']);
    const other = await render({
      ...MATRIX['everything at once'],
      backfill: { enabled: true, arguments: ['--from-height', '9'] },
    });
    const names = (made: readonly Manifest[]) => byKind(made, 'Job').map(({ metadata }) => metadata.name);
    expect(names(other)).not.toEqual(names(await render(MATRIX['everything at once'])));
  });

  test('every pod runs a command that there is', async () => {
    const pods = podsOf(await render(MATRIX['everything at once'])).filter(
      ({ component }) => !['kubo', 'test'].includes(component),
    );
    for (const { of, spec } of pods) {
      const [verb, ...words] = spec.containers[0]?.args ?? [];
      const command = (await everyCommand()).find((one) => one.name() === verb);
      expect([of, command?.parseOptions(words).unknown]).toEqual([of, []]);
    }
    expect(pods).toHaveLength(3);
  });

  test('the policies open what the addresses in the configuration name', async () => {
    expect(await openPorts(MATRIX['everything at once'])).toEqual(
      new Set([53, 443, 8443, 8370, 8371, 8444, 8445, 9000, 5001, 5002, 3128, 8080]),
    );
  });

  test('peers that are given as a list are reachable', async () => {
    expect(await openPorts(MATRIX['peers with tokens'])).toContain(8446);
  });

  const inSecret = (values: Readonly<Record<string, string>>) => ({ ...MINIMAL, secret: { values } });
  const backfillFrom = (...args: readonly string[]) => ({
    config: { node: MINIMAL.config.node, s3: { bucket: 'b' } },
    backfill: { enabled: true, arguments: args },
  });
  test.each<readonly [name: string, values: Values, port: number]>([
    ['the heartbeat', inSecret({ HOLDFAST_HEARTBEAT_URL: 'https://ping.example:8447/abc' }), 8447],
    ['the receiver of alerts', inSecret({ HOLDFAST_ALERT_URL: 'http://hook.example/x' }), 80],
    [
      'peers in the Secret',
      inSecret({ HOLDFAST_PEERS: 's3=b, https://a.example:8448 peer=https://b.example:8449' }),
      8449,
    ],
    ['a proxy in the Secret', inSecret({ HTTPS_PROXY: 'http://me:8450@proxy.example:8451' }), 8451],
    ['a Kubo that a file of the Secret names', inSecret({ 'kubo-two': 'http://me:horse@kubo.example:8452/api' }), 8452],
    ['a source of a backfill', backfillFrom('--source', 'peer=https://a.example:8453/vh/'), 8453],
    [
      'a source of a backfill in the Secret',
      { ...backfillFrom('--source', 'peer=$(SOURCE_A)'), secret: { values: { SOURCE_A: 'https://a.example:8454' } } },
      8454,
    ],
  ])('%s is reachable', async (_name, values, port) => {
    const ports = await openPorts(values);
    expect(ports).toContain(port);
    expect(ports).not.toContain(8450);
  });

  test('a password that looks like half an address opens nothing, and is not repeated', async () => {
    expect(await openPorts(inSecret({ HOLDFAST_NODE_PASSWORD: 'http://%zz:hunter2' }))).toEqual(
      await openPorts({ ...MINIMAL, networkPolicy: { egressPorts: [80] } }),
    );
  });

  test('the operator of Prometheus gets the alerts, with a link where there is a page, else with the entry itself', async () => {
    const source = rules.parse({ spec: parse(readFileSync(`${CHART}/../config/prometheus/alerts.yaml`, 'utf8')) });
    const without = (made: z.output<typeof rules>) =>
      made.spec.groups.flatMap((group) =>
        group.rules.map(({ annotations, ...rule }) => [rule, annotations['summary']]),
      );
    const [inside] = byKind(await render(MATRIX['everything at once']), 'PrometheusRule').map((made) =>
      rules.parse(made),
    );
    const [linked] = byKind(await render(MATRIX['what users of charts expect']), 'PrometheusRule').map((made) =>
      rules.parse(made),
    );
    if (inside === undefined || linked === undefined) throw new Error('No rules were rendered.');
    expect(without(inside)).toEqual(without(source));
    expect(without(linked)).toEqual(without(source));
    for (const { alert, annotations } of inside.spec.groups.flatMap((group) => group.rules)) {
      expect([alert, annotations['runbook']]).toEqual([alert, expect.stringContaining('**At stake**')]);
      expect(annotations).not.toHaveProperty('runbook_url');
    }
    for (const { alert, annotations } of linked.spec.groups.flatMap((group) => group.rules)) {
      expect(annotations['runbook_url']).toBe(`https://docs.example/RUNBOOK.md#${alert.toLowerCase()}`);
    }
  });

  test('behind an ingress clients are told apart by what the ingress says of them, unless the operator says otherwise', async () => {
    const file = async (values: Values) => {
      const [map] = byKind(await render(values), 'ConfigMap');
      return parse(z.looseObject({ data: z.record(z.string(), z.string()) }).parse(map).data['holdfast.yaml'] ?? '');
    };
    const ingressOn = { enabled: true, hosts: ['a.example'] };
    expect(await file({ ...MINIMAL, ingress: ingressOn })).toMatchObject({ http: { trustProxy: '1' } });
    const own = { config: { ...MINIMAL.config, http: { trustProxy: '10.0.0.0/8' } }, ingress: ingressOn };
    expect(await file(own)).toMatchObject({ http: { trustProxy: '10.0.0.0/8' } });
    expect(await file(MINIMAL)).not.toHaveProperty('http');
  });

  test('the scrape shows a read token where read tokens are set', async () => {
    const [monitor] = byKind(await render(MATRIX['what users of charts expect']), 'ServiceMonitor');
    expect(monitor?.['spec']).toMatchObject({
      endpoints: [{ path: '/metrics', authorization: { credentials: { name: 'scrape', key: 'token' } } }],
    });
    const [open] = byKind(await render(MATRIX['S3 and readers']), 'ServiceMonitor');
    expect(JSON.stringify(open)).not.toContain('authorization');
  });

  test('the runbook grows the claim of the set that the chart makes', async () => {
    const entry = readFileSync(`${CHART}/../config/RUNBOOK.md`, 'utf8')
      .split('\n## ')
      .find((one) => one.startsWith('HoldfastDiskFilling'));
    const [set] = byKind(await render(MINIMAL), 'StatefulSet');
    const [claim] = z
      .looseObject({ volumeClaimTemplates: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })) })
      .parse(set?.['spec']).volumeClaimTemplates;
    expect(entry).toContain(`kubectl delete statefulset ${set?.metadata.name} --cascade=orphan\n`);
    expect(entry).toContain(`kubectl patch pvc ${claim?.metadata.name}-${set?.metadata.name}-0 `);
  });

  test('secrets leave no quick hash in what everybody may read', async () => {
    const hashes = new Set<string>();
    for (const release of ['blobs', 'others']) {
      for (const { annotations } of podsOf(await render(MATRIX['S3 and readers'], release))) {
        if (annotations['checksum/secret'] !== undefined) hashes.add(annotations['checksum/secret']);
      }
    }
    // Salted by the release: the same secrets look another way in another one.
    expect(hashes.size).toBe(2);
    const changed = {
      ...MATRIX['S3 and readers'],
      secret: { values: { HOLDFAST_NODE_PASSWORD: 'another', HOLDFAST_S3_SECRET_ACCESS_KEY: 'battery staple' } },
    };
    for (const { annotations } of podsOf(await render(changed))) {
      if (annotations['checksum/secret'] !== undefined) expect(hashes).not.toContain(annotations['checksum/secret']);
    }
  });

  test('`helm test` asks each component that runs, inside of the network policy', async () => {
    const pods = podsOf(await render(MATRIX['S3 and readers'])).filter(({ component }) => component === 'test');
    expect(pods.map(({ of }) => of)).toEqual(['Pod/blobs-holdfast-archiver-test', 'Pod/blobs-holdfast-readers-test']);
    for (const { labels } of pods) {
      expect(labels).toMatchObject({ 'app.kubernetes.io/name': 'holdfast', 'app.kubernetes.io/instance': 'blobs' });
    }
  });

  test.each([
    ['20Gi', '10737418240'],
    ['500M', '250000000'],
    ['1.5Ti', '824633720832'],
  ])('the cache of a backfill in %s takes half of it', async (folderSize, bytes) => {
    const made = await render({ ...MATRIX['everything at once'], backfill: { enabled: true, folderSize } });
    const job = podsOf(made).find(({ component }) => component === 'backfill');
    expect(job?.spec.containers[0]?.env).toContainEqual({ name: 'HOLDFAST_LOCAL_BYTES', value: bytes });
  });

  test('an archiver that may stop in less time gets it', async () => {
    const values = {
      config: { ...MINIMAL.config, stop: { seconds: 5 } },
      archiver: { terminationGracePeriodSeconds: 10 },
    };
    const [set] = byKind(await render(values), 'StatefulSet');
    expect(set?.['spec']).toMatchObject({ template: { spec: { terminationGracePeriodSeconds: 10 } } });
    expect(SETTINGS.stopSeconds.fallback).toBe(25);
  });

  test('blobs outlive the release', async () => {
    const sets = byKind(await render(MATRIX['its own Kubo']), 'StatefulSet');
    expect(sets).toHaveLength(2);
    for (const { spec } of sets) {
      expect(spec).toMatchObject({
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      });
    }
  });

  test('long names are cut so that the labels of pods hold them', async () => {
    const made = await render({ ...MATRIX['everything at once'], nameOverride: 'n'.repeat(70) }, 'r'.repeat(53));
    expect(made.filter(({ metadata }) => metadata.name.length > 63)).toEqual([]);
    // Kubernetes labels the pods of a StatefulSet with its name, a dash and a hash of ten: 63 characters at most.
    const sets = byKind(made, 'StatefulSet').map(({ metadata }) => metadata.name);
    expect(sets.filter((name) => name.length > 52)).toEqual([]);
    expect(sets).toHaveLength(2);
    const labels = [...made.map(({ metadata }) => metadata.labels), ...podsOf(made).map((pod) => pod.labels)];
    expect(labels.flatMap((one) => Object.values(one)).filter((label) => label.length > 63)).toEqual([]);
  });

  test('names that YAML would take for numbers stay text', async () => {
    const values = {
      ...MATRIX['everything at once'],
      nameOverride: '1e3',
      fullnameOverride: '12',
      commonLabels: { tier: '0x1' },
    };
    const made = await render({ ...values, serviceAccount: { name: '0x1' } }, '7');
    for (const { kind, metadata } of made) {
      expect([kind, metadata.labels]).toEqual([
        kind,
        expect.objectContaining({ 'app.kubernetes.io/name': '1e3', 'app.kubernetes.io/instance': '7', tier: '0x1' }),
      ]);
    }
    for (const manifest of made) expect(() => validate(manifest), manifest.kind).not.toThrow();
    expect(podsOf(made).map(({ spec }) => spec['serviceAccountName'])).toEqual(podsOf(made).map(() => '0x1'));
  });

  test('the packed chart has its page and its values with it, and what these link to', async () => {
    const folder = temporaryFolder();
    await mustRun(await goBinary('helm'), ['package', CHART, '--destination', folder]);
    const [packed = ''] = readdirSync(folder);
    const files: string[] = [];
    await list({ file: join(folder, packed), onReadEntry: ({ path }) => void files.push(path) });
    expect(files).toEqual(
      expect.arrayContaining(['holdfast/README.md', 'holdfast/VALUES.md', 'holdfast/files/runbook.txt']),
    );
    const pages = ['README.md', 'VALUES.md'].map((name) => readFileSync(join(CHART, name), 'utf8'));
    const links = pages.flatMap((page) => [...page.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to]) => to));
    expect(links.length).toBeGreaterThan(1);
    expect(links.filter((to) => !files.includes(`holdfast/${to}`))).toEqual([]);
  });

  test.each([
    [{}, 'config.node.url is not set'],
    [
      { ...MINIMAL, secret: { values: { HOLDFAST_NODE_URL: 'http://b' } } },
      'config.node.url and HOLDFAST_NODE_URL of the Secret are both set',
    ],
    [
      { secret: { existing: 'a', keys: ['HOLDFAST_NODE_URL'] } },
      'networkPolicy.egressPorts is empty, and the chart cannot read the port of HOLDFAST_NODE_URL',
    ],
    [
      { ...MINIMAL, secret: { existing: 'a', keys: ['HOLDFAST_ALERT_URL'] } },
      'networkPolicy.egressPorts is empty, and the chart cannot read the port of HOLDFAST_ALERT_URL',
    ],
    [
      { ...MINIMAL, secret: { existing: 'a', keys: ['HTTPS_PROXY'] } },
      'networkPolicy.egressPorts is empty, and the chart cannot read the port of HTTPS_PROXY',
    ],
    [
      {
        config: { ...MINIMAL.config, backends: [{ kind: 'ipfs', id: 'a', apiUrlFile: '/etc/holdfast/secrets/kubo' }] },
        secret: { existing: 'a', keys: ['kubo'] },
      },
      'the chart cannot read the port of config.backends[0].apiUrlFile',
    ],
    [{ ...MINIMAL, readers: { enabled: true } }, 'readers.enabled needs a backend'],
    [{ ...MINIMAL, backfill: { enabled: true } }, 'backfill.enabled needs a backend'],
    [
      { ...MINIMAL, archiver: { terminationGracePeriodSeconds: 20 } },
      'archiver.terminationGracePeriodSeconds (20) must be more than config.stop.seconds (25)',
    ],
    [
      { config: { ...MINIMAL.config, stop: { seconds: 60 } } },
      'archiver.terminationGracePeriodSeconds (60) must be more than config.stop.seconds (60)',
    ],
    [
      { config: { ...MINIMAL.config, stop: { seconds: '30s' } } },
      'config.stop.seconds must be a whole number of seconds in the chart, not "30s"',
    ],
    [
      {
        ...MINIMAL,
        secret: { values: { 'read-tokens': 'x' } },
        metrics: { serviceMonitor: { enabled: true } },
      },
      'metrics.serviceMonitor needs a token, since read-tokens is set',
    ],
    [{ ...MINIMAL, ingress: { enabled: true } }, 'ingress.enabled needs ingress.hosts'],
    [{ ...MINIMAL, secret: { existing: 'a' } }, 'secret.existing is set without secret.keys'],
    [{ ...MINIMAL, secret: { existing: 'a', keys: ['b'], values: { b: 'c' } } }, 'are both set'],
  ])('values that cannot work together are refused with what to do: %j', async (values, says) => {
    expect(await refusal(values)).toContain(says);
  });
});
