import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { everyCommand } from '../../src/cli/run-cli.ts';
import { SETTINGS } from '../../src/config/index.ts';
import { FakeArchiveView } from '../http/fake-archive-view.ts';
import { FakeChainView } from '../http/fake-chain-view.ts';
import { injectable } from '../http/harness.ts';
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
    const policies = byKind(await render(MATRIX['everything at once']), 'NetworkPolicy');
    const policy = z
      .looseObject({
        spec: z.looseObject({ egress: z.array(z.object({ ports: z.array(z.looseObject({ port: z.number() })) })) }),
      })
      .parse(policies.find(({ metadata }) => !metadata.name.endsWith('kubo')));
    const ports = new Set(policy.spec.egress.flatMap((rule) => rule.ports.map(({ port }) => port)));
    expect(ports).toEqual(new Set([53, 443, 8443, 8370, 8371, 8444, 8445, 9000, 5001, 5002, 3128, 8080]));
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

  test('every pod takes what users of charts give it', async () => {
    const pods = podsOf(await render(MATRIX['what users of charts expect'])).filter(
      ({ component }) => component !== 'test',
    );
    expect(pods.map(({ component }) => component).toSorted()).toEqual(['archiver', 'backfill', 'kubo', 'reader']);
    for (const { of, component, labels, annotations, spec } of pods) {
      expect([of, labels]).toEqual([of, expect.objectContaining({ team: 'data', tier: 'archive' })]);
      expect([of, annotations]).toEqual([of, expect.objectContaining({ note: 'of a test' })]);
      expect([of, spec]).toEqual([
        of,
        expect.objectContaining({
          nodeSelector: { disk: 'ssd' },
          priorityClassName: 'important',
          tolerations: [{ key: 'archive', operator: 'Exists' }],
          affinity: { nodeAffinity: {} },
          topologySpreadConstraints: [expect.objectContaining({ topologyKey: 'topology.kubernetes.io/zone' })],
        }),
      ]);
      expect([of, spec.initContainers.map(({ name }) => name)]).toEqual([of, ['before']]);
      if (component === 'kubo') continue;
      expect([of, spec.volumes.map(({ name }) => name)]).toEqual([of, expect.arrayContaining(['more'])]);
      expect([of, spec.containers[0]?.volumeMounts.map(({ name }) => name)]).toEqual([
        of,
        expect.arrayContaining(['more']),
      ]);
      expect([of, spec.containers[0]?.env]).toEqual([
        of,
        expect.arrayContaining([
          { name: 'AWS_REGION', valueFrom: { configMapKeyRef: { name: 'cloud', key: 'region' } } },
        ]),
      ]);
      // The cluster chooses user and group.
      expect([of, spec.securityContext]).toEqual([of, expect.not.objectContaining({ runAsUser: expect.anything() })]);
    }
    const beside = pods.filter(({ spec }) => spec.containers.some(({ name }) => name === 'beside'));
    expect(beside.map(({ component }) => component).toSorted()).toEqual(['archiver', 'reader']);
  });

  test('a probe keeps what the chart says of it where nothing else is said', async () => {
    const [archiver] = byKind(await render(MATRIX['what users of charts expect']), 'StatefulSet').filter(
      ({ metadata }) => metadata.name.endsWith('archiver'),
    );
    expect(archiver?.['spec']).toMatchObject({
      updateStrategy: { type: 'OnDelete' },
      template: {
        spec: {
          containers: [
            {
              startupProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 5, failureThreshold: 600 },
              livenessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 60, timeoutSeconds: 10 },
            },
            {},
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { annotations: { backup: 'daily' } },
          spec: { storageClassName: '', accessModes: ['ReadWriteOncePod'] },
        },
      ],
    });
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

  test('heartbeat, receiver of alerts and sources of a backfill stay reachable', async () => {
    const policies = byKind(await render(MATRIX['what users of charts expect']), 'NetworkPolicy');
    expect(JSON.stringify(policies)).toMatch(/"port":8446.*"port":8444.*"port":8445/);
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

  test('long names stay names', async () => {
    const made = await render(MATRIX['everything at once'], `r${'x'.repeat(52)}`);
    expect(made.filter(({ metadata }) => metadata.name.length > 63)).toEqual([]);
    // Kubernetes labels the pods of a StatefulSet with its name, a dash and a hash of ten: 63 characters at most.
    const sets = byKind(made, 'StatefulSet').map(({ metadata }) => metadata.name);
    expect(sets.filter((name) => name.length > 52)).toEqual([]);
    expect(sets).toHaveLength(2);
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
