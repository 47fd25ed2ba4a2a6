import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig, peersOf, showConfig } from '../../src/config/index.ts';
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

describe('the list of peers', () => {
  test('a text and a list are both peers', () => {
    expect(peersOf(loadText('peers: https://a.example dir=/b').values.peers)).toMatchObject([
      { source: 'https://a.example', name: null, token: null, requestsPerSecond: null },
      { source: 'dir=/b' },
    ]);
    const list =
      'peers: [{source: https://a.example, name: berlin, token: hush, requestsPerSecond: 3}, {source: s3=b}]';
    expect(peersOf(loadText(list).values.peers)).toMatchObject([
      { source: 'https://a.example', name: 'berlin', token: 'hush', requestsPerSecond: 3 },
      { source: 's3=b', name: null, tokenFile: null },
    ]);
    expect(peersOf(loadText('{}').values.peers)).toEqual([]);
  });

  test('a wrong peer is reported with its place in the list, and without its token', () => {
    const refused = (entry: string) => refusal(`peers: [{source: https://a.example}, ${entry}]`);
    expect(refused('{source: https://b, tokens: hush-hush}')).toMatch(/at 1, .*tokens/);
    expect(refused('{token: hush-hush}')).toContain('at 1.source, must be text');
    expect(refused('{source: "https://b https://c"}')).toContain('at 1.source, must name one archive');
    expect(refused('{source: https://b, name: "a b"}')).toContain('at 1.name, must be a short name');
    expect(refused('{source: https://b, requestsPerSecond: 0}')).toContain('at 1.requestsPerSecond, must be a whole');
    expect(refused('{source: https://b, token: hush-hush, tokenFile: /t}')).toContain('at 1, must not have both');
    expect(refused('{source: s3=b, token: hush-hush}')).toContain('at 1, must be an archive');
    expect(refused('{source: https://me:hush-hush@b, token: x}')).toContain('a token and a password');
    expect(refusal('peers: [{source: s3=a, name: one}, {source: s3=b, name: One}]')).toContain('two peers one name');
    expect(refusal('peers: [{source: s3=a, name: Peer-2}, {source: s3=b}]')).toContain('two peers one name');
    expect(refusal('peers: 5')).toContain('must be text, or a list of peers');
    for (const entry of [
      '{source: https://b, token: hush-hush, name: "!"}',
      '{source: https://me:hush-hush@b, name: 5}',
    ])
      expect(refused(entry)).not.toContain('hush-hush');
  });

  test('neither a token nor a password of a peer is shown', () => {
    const list = 'peers: [{source: "https://me:hush-hush@a", name: berlin}, {source: https://b, token: hush-hush}]';
    const shown = showConfig(loadText(list)).find(({ key }) => key === 'peers')?.value;
    expect(JSON.stringify(shown)).not.toContain('hush-hush');
    expect(shown).toMatchObject([{ source: 'https://***@a', name: 'berlin', token: null }, { token: '***' }]);
  });
});
