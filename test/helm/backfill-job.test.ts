import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { describeWithHelm, template, type Values } from './rendered-chart.ts';
import { MATRIX } from './values-of-tests.ts';

const job = z.looseObject({
  kind: z.literal('Job'),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: z.looseObject({ spec: z.looseObject({}) }) }),
});
type Job = z.output<typeof job>;

const BACKFILL = { enabled: true, arguments: ['--from-height', '100'] };
const VALUES = { ...MATRIX['S3 and readers'], backfill: BACKFILL };
const JOBS = '/apis/batch/v1/namespaces/archive/jobs/';

/** A cluster with these jobs, as far as Helm asks for them. */
async function clusterWith(jobs: readonly Job[]): Promise<string> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://cluster').pathname;
    const found = jobs.find(({ metadata }) => path === `${JOBS}${metadata.name}`);
    const kinds = [{ name: 'jobs', singularName: 'job', namespaced: true, kind: 'Job', verbs: ['get'] }];
    const known =
      path === '/apis/batch/v1' ? { kind: 'APIResourceList', groupVersion: 'batch/v1', resources: kinds } : found;
    const answer = known ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
    response.writeHead(known === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return `http://127.0.0.1:${address.port}`;
}

/** The job that Helm would apply to a cluster that has these jobs. */
async function appliedTo(jobs: readonly Job[], values: Values): Promise<Job> {
  const words = ['--dry-run=server', '--kube-apiserver', await clusterWith(jobs)];
  const { code, stdout, stderr } = await template(values, 'blobs', words);
  if (code !== 0) throw new Error(stderr);
  const made = parseAllDocuments(stdout).map((document): unknown => document.toJS());
  return job.parse(made.find((one) => job.safeParse(one).success));
}

/** A job as Kubernetes stores it when it is created: with defaults, and with labels of its own. */
function asCreated({ metadata, spec }: Job): Job {
  const selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': 'e9c1' } };
  const defaults = {
    completions: 1,
    parallelism: 1,
    completionMode: 'NonIndexed',
    suspend: false,
    manualSelector: false,
  };
  const pod = { ...spec.template.spec, dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler' };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, uid: 'e9c1' },
    spec: { ...defaults, ...spec, selector, template: { ...spec.template, spec: pod } },
    status: { succeeded: 1 },
  };
}

describeWithHelm('the backfill job over upgrades', () => {
  test('an upgrade of image, resources and keys changes nothing of a job that is there, so Kubernetes accepts the upgrade', async () => {
    const installed = await appliedTo([], VALUES);
    expect(JSON.stringify(installed.spec)).toContain('--from-height');
    expect(installed.spec).not.toHaveProperty('ttlSecondsAfterFinished');
    const existing = asCreated(installed);
    const upgraded = {
      ...VALUES,
      image: { tag: '9.9.9' },
      secret: {
        values: { HOLDFAST_NODE_PASSWORD: 'another', HOLDFAST_S3_SECRET_ACCESS_KEY: 'x', SOURCE_A: 'https://a' },
      },
      backfill: { ...BACKFILL, resources: { requests: { cpu: '2' } } },
    };
    const applied = await appliedTo([existing], upgraded);
    expect(applied.metadata.name).toBe(installed.metadata.name);
    expect(applied.spec).toEqual(existing.spec);
  });

  test('other arguments make another job, with the image of now', async () => {
    const existing = asCreated(await appliedTo([], VALUES));
    const values = { ...VALUES, image: { tag: '9.9.9' }, backfill: { ...BACKFILL, arguments: ['--from-height', '7'] } };
    const applied = await appliedTo([existing], values);
    expect(applied.metadata.name).not.toBe(existing.metadata.name);
    expect(JSON.stringify(applied.spec)).toContain(':9.9.9"');
  });

  test('a job is removed after it has ended only where the values say when', async () => {
    const applied = await appliedTo([], { ...VALUES, backfill: { ...BACKFILL, ttlSecondsAfterFinished: 600 } });
    expect(applied.spec).toMatchObject({ ttlSecondsAfterFinished: 600 });
  });
});
