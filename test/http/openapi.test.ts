import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PROBLEMS } from '../../src/http/index.ts';
import { FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable } from './harness.ts';

const DESCRIPTION = z.object({
  openapi: z.string(),
  info: z.object({ version: z.string() }),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ operationId: z.string(), responses: z.record(z.string(), z.unknown()) })),
  ),
});

async function described() {
  const { inject } = injectable(new FakeArchiveView(), new FakeChainView());
  return DESCRIPTION.parse((await inject('/openapi.json')).json());
}

describe('the description', () => {
  test('names every route', async () => {
    const { openapi, paths } = await described();
    expect(openapi).toBe('3.1.0');
    expect(Object.entries(paths).map(([path, methods]) => `${Object.keys(methods).join(' ')} ${path}`)).toEqual([
      'get head /v1/blobs/{versionHash}',
      'get head /v1/blobs/{versionHash}/record',
      'get head /v1/blobs',
      'get head /v1/transactions/{txid}',
      'get head /v1/transactions/{txid}/data',
      'get head /v1/blocks/{at}',
      'get head /v1/blobs/{versionHash}/proof',
      'get head /v1/status',
      'get head /healthz',
      'get head /readyz',
      'get head /v1/window',
      'get head /v1/events',
      'get head /v1/custom/{versionHash}/{keccak}',
      'get head /vh/{versionHash}',
      'get head /raw/vh/{versionHash}',
      'get head /get/{commitment}',
      'post /check_vh',
      'post /raw/check_vh',
      'get head /lastblock',
      'post /',
      'get head /openapi.json',
    ]);
  });

  test('says of a parameter and of a body what the schema that decodes it says', async () => {
    const { paths } = await described();
    expect(paths['/v1/blobs']?.['get']).toMatchObject({
      parameters: [
        { name: 'after', in: 'query', required: false, schema: { type: 'string', maxLength: 512 } },
        { name: 'limit', in: 'query', required: false },
        { name: 'order', in: 'query', schema: { enum: ['newest', 'oldest'] } },
      ],
    });
    expect(paths['/check_vh']?.['post']).toMatchObject({
      requestBody: {
        content: { 'application/json': { schema: { type: 'array', minItems: 1, maxItems: 32 } } },
      },
      responses: { 200: {}, 400: {}, 413: {}, 503: {} },
    });
    expect(paths['/vh/{versionHash}']?.['get']).toMatchObject({
      parameters: [{ name: 'versionHash', required: true, schema: { pattern: '^(0[xX])?[0-9a-fA-F]{64}$' } }, {}],
    });
  });

  test('gives each operation an id of its own, names the server, and has the version of the API and not of the product', async () => {
    const { info, servers, paths } = await described();
    const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('getV1BlobsVersionHash');
    expect(servers).toEqual([{ url: '/' }]);
    const product = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')));
    expect(info.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(info.version).not.toBe(product.version);
  });

  test('every status that it names is good, or one of a problem', async () => {
    const { paths } = await described();
    const known = new Set<string>([
      '200',
      '206',
      '304',
      ...Object.values(PROBLEMS).map(({ status }) => String(status)),
    ]);
    const named = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap((one) => Object.keys(one.responses)),
    );
    expect(named.filter((status) => !known.has(status))).toEqual([]);
  });
});
