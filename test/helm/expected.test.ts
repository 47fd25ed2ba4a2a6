import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PAGES } from '../docs/markdown.ts';
import { type Pod, podsOf } from './pods.ts';
import { describeWithHelm, type Manifest, render } from './rendered-chart.ts';
import { MATRIX } from './values-of-tests.ts';

/** One test for each row of the table on the page about the chart: values that users expect of any chart. */

const VALUES = MATRIX['what users of charts expect'];
const everything = () => render(VALUES);
const pods = async () => podsOf(await everything()).filter(({ component }) => component !== 'test');

async function podsOfComponents(...components: readonly string[]): Promise<Pod[]> {
  const found = (await pods()).filter(({ component }) => components.includes(component));
  expect(found.map(({ component }) => component).toSorted()).toEqual(components.toSorted());
  return found;
}

function named(made: readonly Manifest[], kind: string, end: string): Manifest {
  const found = made.find((one) => one.kind === kind && one.metadata.name.endsWith(end));
  if (found === undefined) throw new Error(`No ${kind} ends with ${end}.`);
  return found;
}

/** The first cell of each row, as the test of it is called. */
const ROWS: Readonly<Record<string, () => Promise<void>>> = {
  '`commonLabels`': async () => {
    for (const { kind, metadata } of await everything()) {
      expect([kind, metadata.labels]).toEqual([kind, expect.objectContaining({ team: 'data' })]);
    }
  },

  '`podLabels`, `podAnnotations`, `nodeSelector`, `tolerations`, `affinity`, `topologySpreadConstraints`, `priorityClassName`, `initContainers`':
    async () => {
      for (const { of, labels, annotations, spec } of await podsOfComponents(
        'archiver',
        'reader',
        'backfill',
        'kubo',
      )) {
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
      }
    },

  '`extraVolumes`, `extraVolumeMounts`': async () => {
    for (const { of, spec } of await podsOfComponents('archiver', 'reader', 'backfill')) {
      expect([of, spec.volumes.map(({ name }) => name)]).toEqual([of, expect.arrayContaining(['more'])]);
      expect([of, spec.containers[0]?.volumeMounts]).toEqual([
        of,
        expect.arrayContaining([{ name: 'more', mountPath: '/more' }]),
      ]);
    }
  },

  '`sidecars`, `probes`, `updateStrategy`': async () => {
    const made = await everything();
    // A probe keeps what the chart says of it where nothing else is said.
    expect(named(made, 'StatefulSet', 'archiver')['spec']).toMatchObject({
      updateStrategy: { type: 'OnDelete' },
      template: {
        spec: {
          containers: [
            {
              startupProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 5, failureThreshold: 600 },
              livenessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 60, timeoutSeconds: 10 },
            },
            { name: 'beside' },
          ],
        },
      },
    });
    expect(named(made, 'Deployment', 'readers')['spec']).toMatchObject({
      strategy: { type: 'Recreate' },
      template: {
        spec: {
          containers: [{ startupProbe: { httpGet: { path: '/healthz', port: 'http' } } }, { name: 'beside' }],
        },
      },
    });
  },

  '`environment` with `valueFrom`': async () => {
    const region = { name: 'AWS_REGION', valueFrom: { configMapKeyRef: { name: 'cloud', key: 'region' } } };
    for (const { of, spec } of await podsOfComponents('archiver', 'reader', 'backfill')) {
      expect([of, spec.containers[0]?.env]).toEqual([of, expect.arrayContaining([region])]);
    }
  },

  '`podSecurityContext`, `containerSecurityContext`': async () => {
    for (const { of, spec } of await podsOfComponents('archiver', 'reader', 'backfill')) {
      // Null removes a field of the chart: OpenShift chooses user and group itself.
      expect([of, Object.keys(spec.securityContext).toSorted()]).toEqual([
        of,
        ['fsGroupChangePolicy', 'runAsNonRoot', 'seccompProfile'],
      ]);
      expect([of, spec.containers[0]?.securityContext]).toEqual([
        of,
        expect.objectContaining({ seccompProfile: { type: 'RuntimeDefault' }, readOnlyRootFilesystem: true }),
      ]);
    }
    const [kubo] = await podsOfComponents('kubo');
    expect(kubo?.spec.securityContext).toMatchObject({ runAsUser: 1000, fsGroup: 1000 });
  },

  '`storageClass: "-"`, `accessModes`, `annotations`': async () => {
    const made = await everything();
    // An empty class asks for a volume that was made by hand; no class at all would ask for the one of the cluster.
    expect(named(made, 'StatefulSet', 'archiver')['spec']).toMatchObject({
      volumeClaimTemplates: [
        {
          metadata: { annotations: { backup: 'daily' } },
          spec: { storageClassName: '', accessModes: ['ReadWriteOncePod'] },
        },
      ],
    });
    expect(named(made, 'StatefulSet', 'kubo')['spec']).toMatchObject({
      volumeClaimTemplates: [{ spec: { storageClassName: '', accessModes: ['ReadWriteOncePod'] } }],
    });
  },

  '`existingClaim`': async () => {
    const { spec } = named(await render(MATRIX['an existing secret and an existing claim']), 'StatefulSet', 'archiver');
    expect(spec).not.toHaveProperty('volumeClaimTemplates');
    expect(spec).toMatchObject({
      template: {
        spec: {
          volumes: expect.arrayContaining([{ name: 'data', persistentVolumeClaim: { claimName: 'blobs' } }]),
          containers: [{ volumeMounts: expect.arrayContaining([{ name: 'data', mountPath: '/data' }]) }],
        },
      },
    });
  },

  '`loadBalancerClass`, `loadBalancerSourceRanges`, `externalTrafficPolicy`': async () => {
    const made = await everything();
    for (const end of ['archiver', 'readers']) {
      expect(named(made, 'Service', end)['spec']).toMatchObject({
        type: 'LoadBalancer',
        loadBalancerClass: 'internal',
        loadBalancerSourceRanges: ['10.0.0.0/8'],
        externalTrafficPolicy: 'Local',
      });
    }
  },

  'a ConfigMap for Grafana’s sidecar': async () => {
    const { metadata, data } = named(await everything(), 'ConfigMap', 'dashboard');
    expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    const { panels } = z
      .looseObject({ panels: z.array(z.unknown()) })
      .parse(parse(z.object({ 'holdfast.json': z.string() }).parse(data)['holdfast.json']));
    expect(panels.length).toBeGreaterThan(5);
  },

  '`helm test blobs`': async () => {
    const tests = podsOf(await everything()).filter(({ component }) => component === 'test');
    expect(tests.map(({ of }) => of)).toEqual(['Pod/blobs-holdfast-archiver-test', 'Pod/blobs-holdfast-readers-test']);
  },
};

describeWithHelm('a value that users of charts expect', () => {
  test.each(Object.entries(ROWS))('%s', async (_value, holds) => await holds());

  test('the page about the chart lists these rows and no others', () => {
    const page = PAGES.find(({ path }) => path === 'helm/README.md')?.text ?? '';
    const [, table = ''] = /^\| value \| where \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(page) ?? [];
    const first = table.split('\n').flatMap((row) => /^\| (.*?) \| /.exec(row)?.[1] ?? []);
    expect(first).toEqual(Object.keys(ROWS));
  });
});
