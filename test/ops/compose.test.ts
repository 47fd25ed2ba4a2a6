import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { hasSecretFile, loadConfig, SETTINGS } from '../../src/config/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The compose file as it is shipped: every name in it is one, and every image is pinned. */

const FOLDER = fileURLToPath(new URL('../../config', import.meta.url));
const condition = z.enum(['service_started', 'service_healthy', 'service_completed_successfully']);
const service = z.strictObject({
  image: z.string().regex(/^[a-z0-9./-]+:[A-Za-z0-9._-]*\d[A-Za-z0-9._-]*$/, 'must be pinned by a release'),
  build: z.strictObject({ context: z.string() }).optional(),
  restart: z.literal('unless-stopped').optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  mem_limit: z
    .string()
    .regex(/^\d+m$/)
    .optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/, 'must be open to this machine alone')).optional(),
  volumes: z.array(z.string()).optional(),
  secrets: z.array(z.string()).optional(),
  configs: z.array(z.strictObject({ source: z.string(), target: z.string() })).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  healthcheck: z.strictObject({ test: z.array(z.string()), interval: z.string(), retries: z.int() }).optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition })).optional(),
});
const compose = z.strictObject({
  name: z.literal('holdfast'),
  services: z.record(z.string(), service),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  configs: z.record(z.string(), z.strictObject({ content: z.string() })),
  volumes: z.record(z.string(), z.strictObject({})),
});

const TEXT = readFileSync(resolve(FOLDER, 'compose.yaml'), 'utf8');
const FILE = compose.parse(parse(TEXT));
const SERVICES = Object.entries(FILE.services);
const { archiver, prometheus, grafana, minio } = FILE.services;
const content = (name: string): unknown => parse(FILE.configs[name]?.content ?? '');

describe('the compose file', () => {
  test('has the archiver, its two backends, Prometheus and Grafana', () => {
    expect(Object.keys(FILE.services).toSorted()).toEqual([
      'archiver',
      'bucket',
      'grafana',
      'kubo',
      'minio',
      'prometheus',
    ]);
  });

  test.each(SERVICES)('%s uses secrets, configs, volumes, files and services that there are', (_name, one) => {
    for (const secret of one.secrets ?? []) expect(FILE.secrets).toHaveProperty([secret]);
    for (const { source } of one.configs ?? []) expect(FILE.configs).toHaveProperty([source]);
    for (const other of Object.keys(one.depends_on ?? {})) expect(FILE.services).toHaveProperty([other]);
    for (const volume of one.volumes ?? []) {
      const [from = '', to] = volume.split(':');
      expect(to).toMatch(/^\//);
      if (from.startsWith('.')) expect(existsSync(resolve(FOLDER, from)), from).toBe(true);
      else expect(FILE.volumes).toHaveProperty([from]);
    }
  });

  test('leaves no volume, secret or config unused', () => {
    const used = SERVICES.flatMap(([, { volumes = [], secrets = [], configs = [] }]) => [
      ...volumes.map((volume) => volume.split(':')[0]),
      ...secrets,
      ...configs.map(({ source }) => source),
    ]);
    const declared = [FILE.volumes, FILE.secrets, FILE.configs].flatMap((names) => Object.keys(names));
    expect(declared.filter((name) => !used.includes(name))).toEqual([]);
  });

  test('gives the archiver settings that there are, with values that it takes, and no secret in its environment', () => {
    const environment = archiver?.environment ?? {};
    const secretNames = Object.values(SETTINGS).flatMap((setting) =>
      hasSecretFile(setting) && setting.secret === true && setting.env !== null ? [setting.env] : [],
    );
    expect(Object.keys(environment).filter((name) => secretNames.some((secret) => secret === name))).toEqual([]);
    // Files of secrets are there only inside of the container.
    const given = Object.entries(environment).filter(([name]) => !name.endsWith('_FILE'));
    const env = {
      ...Object.fromEntries(given),
      HOLDFAST_NODE_URL: 'http://node.example:8370',
      HOLDFAST_NODE_USER: 'x',
    };
    const { values } = loadConfig({ env, flags: {}, file: undefined, cwd: temporaryFolder() });
    expect(values).toMatchObject({
      s3Bucket: 'blobs',
      ipfsApiUrl: 'http://kubo:5001',
      replicasRequired: 2,
      localMode: 'cache',
    });
    for (const [name, path] of Object.entries(environment).filter(([key]) => key.endsWith('_FILE'))) {
      expect(secretNames).toContain(name.replace(/_FILE$/, ''));
      expect(archiver?.secrets).toContain(path.replace('/run/secrets/', ''));
    }
  });

  test('refuses to start without the node, and takes every password from a file that its first lines make', () => {
    expect(archiver?.environment?.['HOLDFAST_NODE_URL']).toMatch(/^\$\{HOLDFAST_NODE_URL:\?.+\}$/);
    expect(grafana?.environment).toEqual({ GF_SECURITY_ADMIN_PASSWORD__FILE: '/run/secrets/grafana-password' });
    for (const [name, { file }] of Object.entries(FILE.secrets)) {
      expect(file).toBe(`../secrets/${name}`);
      expect(TEXT).toContain(`> secrets/${name}\n`);
    }
  });

  test('MinIO and the archiver have one user and one secret, and the bucket is made before the archiver starts', () => {
    expect(minio?.environment?.['MINIO_ROOT_USER']).toBe(archiver?.environment?.['HOLDFAST_S3_ACCESS_KEY_ID']);
    expect(minio?.environment?.['MINIO_ROOT_PASSWORD_FILE']).toBe('/run/secrets/s3-secret');
    expect(FILE.services['bucket']?.command?.join(' ')).toContain(
      `here/${archiver?.environment?.['HOLDFAST_S3_BUCKET']}`,
    );
    expect(archiver?.depends_on?.['bucket']?.condition).toBe('service_completed_successfully');
  });

  test('Prometheus scrapes the archiver with the alerts that are shipped, and Grafana reads it with the dashboard that is shipped', () => {
    expect(content('prometheus')).toMatchObject({
      rule_files: ['alerts.yaml'],
      scrape_configs: [{ static_configs: [{ targets: ['archiver:8080'] }] }],
    });
    expect(prometheus?.volumes).toContain('./prometheus/alerts.yaml:/etc/prometheus/alerts.yaml:ro');
    expect(content('grafana-datasource')).toMatchObject({ datasources: [{ url: 'http://prometheus:9090' }] });
    expect(content('grafana-dashboards')).toMatchObject({
      providers: [{ options: { path: '/var/lib/grafana-dashboards' } }],
    });
    expect(grafana?.volumes).toContain('./grafana/holdfast.json:/var/lib/grafana-dashboards/holdfast.json:ro');
  });

  test('has the images of the servers that the tests run against', () => {
    const tested = ['../test/servers/s3-server.ts', '../test/servers/kubo-server.ts', '../helm/values.yaml']
      .map((path) => readFileSync(resolve(FOLDER, path), 'utf8'))
      .join('\n');
    expect(tested).toContain(`'${minio?.image}'`);
    expect(tested).toContain(`'${FILE.services['kubo']?.image}'`);
  });

  test('interpolates nothing in the files that it makes', () => {
    for (const { content: text } of Object.values(FILE.configs)) expect(text).not.toContain('$');
  });
});
