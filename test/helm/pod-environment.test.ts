import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Config, loadConfig } from '../../src/config/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Pod, type PodSpec, podsOf } from './pods.ts';
import { describeWithHelm, type Manifest, render, type Values } from './rendered-chart.ts';
import { MATRIX } from './values-of-tests.ts';

const texts = z.looseObject({ data: z.record(z.string(), z.string()) });

/** A folder as the mounts of the pod would make it. */
function mounted(made: readonly Manifest[]): string {
  const root = temporaryFolder();
  const put = (folder: string, files: Readonly<Record<string, string>>) => {
    mkdirSync(join(root, folder), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, folder, name), text);
  };
  const dataOf = (kind: string) => made.filter((one) => one.kind === kind).map((one) => texts.parse(one).data);
  for (const files of dataOf('ConfigMap')) put('config', files);
  for (const files of dataOf('Secret')) {
    put('secrets', Object.fromEntries(Object.entries(files).map(([name, text]) => [name, atob(text)])));
  }
  return root;
}

const ofSecret = z.object({ secretKeyRef: z.object({ key: z.string() }) });

function read(variable: PodSpec['containers'][number]['env'][number], root: string): string {
  if ('value' in variable) return variable.value.replace('/etc/holdfast', root);
  const { data } = ofSecret.safeParse(variable.valueFrom);
  return data === undefined ? 'of the cluster' : readFileSync(join(root, 'secrets', data.secretKeyRef.key), 'utf8');
}

/** The environment of the pod, as the command itself would read it. */
function loaded(made: readonly Manifest[], { spec }: Pod): Config {
  const root = mounted(made);
  const [container] = spec.containers;
  const env = Object.fromEntries((container?.env ?? []).map((variable) => [variable.name, read(variable, root)]));
  return loadConfig({ env, flags: {}, file: undefined, cwd: root });
}

async function podsWith(values: Values): Promise<Readonly<Record<string, Config>>> {
  const made = await render(values);
  const own = podsOf(made).filter(({ component }) => !['kubo', 'test'].includes(component));
  return Object.fromEntries(own.map((pod) => [pod.component, loaded(made, pod)]));
}

const ofSecretsThatAreThere = Object.entries(MATRIX).filter(
  ([, values]) => !('secret' in values && 'existing' in values.secret),
);

describeWithHelm('the environment of a pod', () => {
  test.each(ofSecretsThatAreThere)('%s: the configuration loader takes it', async (_name, values) => {
    const configs = Object.values(await podsWith(values));
    expect(configs.length).toBeGreaterThan(0);
    for (const { values: read } of configs) {
      expect(read).toMatchObject({ dataDir: '/data', httpHost: '0.0.0.0', httpPort: 8_080 });
    }
  });

  test('the command reads what the values say, secrets out of files', async () => {
    const { archiver, reader } = await podsWith(MATRIX['S3 and readers']);
    expect(archiver?.values).toMatchObject({
      nodeUrl: 'http://node:8370',
      nodePassword: 'correct horse',
      s3Bucket: 'blobs',
      s3SecretAccessKey: 'battery staple',
      localBytes: 53_687_091_200,
    });
    expect(archiver?.origins).toMatchObject({ nodePassword: 'secret file', s3Bucket: 'file' });
    expect(reader?.values).toMatchObject({ archiverUrl: 'http://blobs-holdfast-archiver:8080', s3Bucket: 'blobs' });
    expect(reader?.values.withheldFile).toMatch(/config\/withheld$/);
  });

  test('addresses with passwords come out of the Secret, and stand nowhere else', async () => {
    const values = MATRIX['addresses and a proxy with passwords'];
    const { archiver } = await podsWith(values);
    expect(archiver?.values).toMatchObject({
      nodeUrl: values.secret.values.HOLDFAST_NODE_URL,
      ipfsApiUrl: values.secret.values.HOLDFAST_IPFS_API_URL,
    });
    const made = await render(values);
    const open = JSON.stringify(made.filter(({ kind }) => kind !== 'Secret'));
    expect(open).not.toMatch(/horse|staple|battery|correct|me:peer/);
    expect(open).toContain('"secretKeyRef":{"name":"blobs-holdfast","key":"HTTPS_PROXY"}');
    // The policies open the ports of these addresses all the same.
    const policies = JSON.stringify(made.filter(({ kind }) => kind === 'NetworkPolicy'));
    for (const port of [8371, 8372, 5003, 3128]) expect(policies).toContain(`"port":${port},`);
  });

  test('the job keeps its folder small, whatever the archiver does', async () => {
    const { archiver, backfill } = await podsWith({
      ...MATRIX['everything at once'],
      config: { ...MATRIX['everything at once'].config, local: { mode: 'keep' } },
    });
    expect([archiver?.values.localMode, backfill?.values.localMode]).toEqual(['keep', 'cache']);
  });

  test('the Kubo of the chart is replicated to, unless another is named', async () => {
    const own = await podsWith(MATRIX['its own Kubo']);
    expect(own['archiver']?.values.ipfsApiUrl).toBe('http://blobs-holdfast-kubo:5001');
    const config = { ...MATRIX['its own Kubo'].config, ipfs: { apiUrl: 'http://elsewhere:5001' } };
    const other = await podsWith({ ...MATRIX['its own Kubo'], config });
    expect(other['archiver']?.values.ipfsApiUrl).toBe('http://elsewhere:5001');
  });
});
