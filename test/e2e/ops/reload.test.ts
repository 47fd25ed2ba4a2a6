import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { atEndOfTest } from '../../cleanup.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { HoldfastProcess } from '../holdfast-process.ts';

const hashed = (token: string) => `sha256:${createHash('sha256').update(token).digest('hex')} somebody\n`;

async function statusWith(url: string, token: string): Promise<number> {
  const { status, body } = await fetch(`${url}/v1/status`, { headers: { authorization: `Bearer ${token}` } });
  await body?.cancel();
  return status;
}

/** A server that refuses everything, and tells the access key of the last question. */
async function refusingBucket() {
  let last: IncomingHttpHeaders = {};
  const server = createServer((request, response) => {
    last = request.headers;
    request.resume();
    response.writeHead(403, { 'content-type': 'application/xml' });
    response.end('<Error><Code>AccessDenied</Code></Error>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEndOfTest(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return {
    endpoint: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    lastKey: () => /Credential=([^/]+)/.exec(last.authorization ?? '')?.[1] ?? null,
  };
}

test('SIGHUP lets in other tokens, and a file that is no good changes no token', async () => {
  const [read, admin] = [join(temporaryFolder(), 'read'), join(temporaryFolder(), 'admin')];
  writeFileSync(read, hashed('one'));
  writeFileSync(admin, hashed('chief'));
  const env = { HOLDFAST_HTTP_READ_TOKENS_FILE: read, HOLDFAST_HTTP_ADMIN_TOKENS_FILE: admin };
  const daemon = await startArchive({ dataDir: temporaryFolder(), node: await startNode(), env });
  const { url } = daemon.client;
  expect([await statusWith(url, 'one'), await statusWith(url, 'two')]).toEqual([200, 401]);
  writeFileSync(read, hashed('two'));
  daemon.kill('SIGHUP');
  await daemon.says(/"replaced":\["http\.readTokensFile"\],"waiting":\[\]/);
  expect([await statusWith(url, 'one'), await statusWith(url, 'two')]).toEqual([401, 200]);
  writeFileSync(read, hashed('three'));
  writeFileSync(admin, 'chief\n');
  daemon.kill('SIGHUP');
  await daemon.says(/the configuration is wrong, and stays as it was: The file of tokens/);
  expect([await statusWith(url, 'two'), await statusWith(url, 'three')]).toEqual([200, 401]);
  expect(daemon.output).not.toMatch(/"chief|three/);
});

test('SIGHUP takes over the password of a node that was given another', async () => {
  const secret = join(temporaryFolder(), 'node');
  writeFileSync(secret, 'not-any-more');
  const node = await startNode({ password: 'the-new-one' });
  node.submitLabelled({ label: 'behind a password', sizeBytes: 1_000, hashType: 'keccak256' });
  node.mine();
  const config = join(temporaryFolder(), 'holdfast.yaml');
  writeFileSync(
    config,
    JSON.stringify({ dataDir: temporaryFolder(), node: { url: node.url, user: 'devnode' }, http: { port: 0 } }),
  );
  const daemon = new HoldfastProcess(['run'], {
    env: { HOLDFAST_CONFIG: config, HOLDFAST_NODE_PASSWORD_FILE: secret },
  });
  const [, url = ''] = await daemon.says(/"url":"([^"]+)"/);
  await daemon.says(/node\/unauthorized/);
  writeFileSync(secret, 'the-new-one\n');
  daemon.kill('SIGHUP');
  await daemon.says(/"taken":\["node\.password"\]/);
  await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
  expect(daemon.output).not.toContain('the-new-one');
});

test('SIGHUP takes over the keys of buckets, of the plain settings and out of a file', async () => {
  const [plain, more] = [await refusingBucket(), await refusingBucket()];
  const [file, secret] = [join(temporaryFolder(), 'holdfast.yaml'), join(temporaryFolder(), 'secret')];
  const backends = (accessKeyId: string) => [
    { kind: 's3', id: 's3:more', endpoint: more.endpoint, bucket: 'b', accessKeyId, secretAccessKeyFile: secret },
  ];
  const write = (plainKey: string) =>
    writeFileSync(
      file,
      JSON.stringify({
        s3: { endpoint: plain.endpoint, bucket: 'a', accessKeyId: plainKey, secretAccessKey: `${plainKey}-secret` },
        backends: backends('more'),
      }),
    );
  write('before');
  writeFileSync(secret, 'one');
  const node = await startNode();
  const env = { HOLDFAST_CONFIG: file, HOLDFAST_LOCAL_MODE: 'keep' };
  const daemon = await startArchive({ dataDir: temporaryFolder(), node, env });
  node.submitLabelled({ label: 'to buckets', sizeBytes: 1_000, hashType: 'keccak256' });
  node.mine();
  await eventually(() => expect(plain.lastKey()).toBe('before'));
  write('after');
  writeFileSync(secret, 'two');
  daemon.kill('SIGHUP');
  await daemon.says(/"taken":\["s3\.accessKeyId","s3\.secretAccessKey"\],"replaced":\["s3","s3:more"\]/);
  await eventually(() => expect(plain.lastKey()).toBe('after'));
  expect(daemon.output).not.toMatch(/after-secret|before-secret/);
});

test('SIGHUP does the same for a stateless reader, which goes on', async () => {
  const [read, withheld] = [join(temporaryFolder(), 'read'), join(temporaryFolder(), 'withheld')];
  writeFileSync(read, hashed('one'));
  writeFileSync(withheld, '');
  const { endpoint } = await refusingBucket();
  const reader = new HoldfastProcess(['serve'], {
    env: {
      HOLDFAST_HTTP_PORT: '0',
      HOLDFAST_HTTP_READ_TOKENS_FILE: read,
      HOLDFAST_IPFS_API_URL: endpoint,
      HOLDFAST_WITHHELD_FILE: withheld,
    },
  });
  const [, url = ''] = await reader.says(/"url":"([^"]+)"/);
  writeFileSync(read, hashed('two'));
  reader.kill('SIGHUP');
  await reader.says(/"replaced":\["http\.readTokensFile"\]/);
  expect([await statusWith(url, 'one'), await statusWith(url, 'two')]).toEqual([401, 200]);
});
