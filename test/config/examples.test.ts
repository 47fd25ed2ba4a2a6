import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig, showConfig } from '../../src/config/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const FOLDER = fileURLToPath(new URL('../../config', import.meta.url));
/** The compose file is no configuration of the archive. */
const EXAMPLES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && name !== 'compose.yaml');

const load = (file: string) => loadConfig({ env: {}, flags: {}, file, cwd: FOLDER });

function loadText(text: string) {
  const path = join(temporaryFolder(), 'holdfast.yaml');
  writeFileSync(path, text);
  return load(path);
}

function refusal(text: string): string {
  try {
    loadText(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('example configurations', () => {
  test('there is one example for each way to start', () => {
    expect(EXAMPLES.sort()).toEqual([
      'from-sentinel.yaml',
      'minimal.yaml',
      'minio-and-kubo.yaml',
      'r2.yaml',
      's3.yaml',
      'standby.yaml',
    ]);
  });

  test.each(EXAMPLES)('%s is a configuration of this version', (name) => {
    expect(load(join(FOLDER, name)).values.nodeUrl).toBe('http://127.0.0.1:8370');
  });

  test('the MinIO and Kubo example has two kinds of backend, a further one, and requires two copies', () => {
    const { values } = load(join(FOLDER, 'minio-and-kubo.yaml'));
    expect(values).toMatchObject({
      s3Bucket: 'blobs',
      ipfsApiUrl: 'http://kubo:5001',
      replicasRequired: 2,
      localMode: 'cache',
      backends: [{ kind: 's3', id: 's3:offsite', layout: 'holdfast', region: 'us-east-1' }],
    });
  });
});

describe('the list of further backends', () => {
  test('a wrong entry is reported with its place in the list', () => {
    expect(refusal('backends: [{kind: s3, id: a}]')).toContain('at 0.bucket,');
    expect(refusal('backends: [{kind: ipfs, id: a, apiUrl: ftp://x}]')).toContain('at 0.apiUrl, must be an http://');
    expect(refusal('backends: [{kind: ipfs, id: local, apiUrl: http://x}]')).toContain('must not be local');
    expect(refusal('backends: [{kind: ipfs, id: a}]')).toContain('must have apiUrl or apiUrlFile');
    expect(refusal('backends: [{kind: tape, id: a}]')).toContain('must have a kind: s3 or ipfs');
    expect(refusal('backends: [{kind: ipfs, id: a, apiUrl: http://x, pins: 1}]')).toContain('pins');
    expect(refusal('backends: {kind: ipfs}')).toContain('backends.kind');
  });

  test('a secret in the list is neither shown nor repeated', () => {
    const list = 'backends: [{kind: s3, id: a, bucket: b, secretAccessKey: hush-hush}]';
    expect(JSON.stringify(showConfig(loadText(list)))).not.toContain('hush-hush');
    expect(refusal(`${list.slice(0, -2)}, region: 7}]`)).not.toContain('hush-hush');
    const kubo = 'backends: [{kind: ipfs, id: a, apiUrl: "http://me:hush-hush@kubo:5001"}]';
    expect(JSON.stringify(showConfig(loadText(kubo)))).toContain('http://***@kubo:5001');
  });
});
