import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { backendSettings } from '../../src/app/open-backends.ts';
import { loadConfig } from '../../src/config/index.ts';
import { ipfsOptions, kuboEndpoint } from '../../src/storage/ipfs/ipfs-options.ts';
import { s3Options } from '../../src/storage/s3/s3-options.ts';

const README = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');

/** Settings in one row of a table of the README. "the same with" adds the settings of the first row. */
function settingsFor(name: string): Record<string, string> {
  const row = README.split('\n').find((line) => line.startsWith(`| ${name} |`)) ?? '';
  expect(row, `a row for ${name}`).not.toBe('');
  const own = [...row.matchAll(/(HOLDFAST_[A-Z0-9_]+)=([^\s`]+)/g)].map(([, key = '', value = '']) => [
    key,
    value.replace(/<[a-z ]+>/g, 'example'),
  ]);
  return { ...(row.includes('the same with') ? settingsFor('S3') : {}), ...Object.fromEntries(own) };
}

function backendsOf(name: string) {
  const env = { HOLDFAST_NODE_URL: 'http://127.0.0.1:8370', ...settingsFor(name) };
  return backendSettings(loadConfig({ env, flags: {}, file: undefined, cwd: '/' }).values);
}

describe('the README rows for each backend are a valid configuration', () => {
  test.each([
    { name: 'S3', endpoint: null, region: 'eu-central-1' },
    { name: 'R2', endpoint: 'https://example.r2.cloudflarestorage.com', region: 'auto' },
    { name: 'MinIO', endpoint: 'http://minio:9000', region: 'eu-central-1' },
  ])('$name', ({ name, endpoint, region }) => {
    const [backend, ...others] = backendsOf(name);
    expect(others).toEqual([]);
    expect(backend).toMatchObject({ kind: 's3', id: 's3', bucket: 'my-blobs', endpoint, region });
    expect(s3Options({ bucket: 'my-blobs', endpoint, region })).toMatchObject({ endpoint, region });
  });

  test('Kubo', () => {
    const [backend, ...others] = backendsOf('Kubo (IPFS)');
    expect(others).toEqual([]);
    expect(backend).toMatchObject({ kind: 'ipfs', id: 'ipfs', apiUrl: 'http://kubo:5001', apiUrlFile: null });
    expect(kuboEndpoint(ipfsOptions({ apiUrl: 'http://kubo:5001' })).base.host).toBe('kubo:5001');
  });
});
