import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { serverName } from '../../servers/container.ts';
import { environmentWithoutProxy, type ForwardProxy, startForwardProxy } from '../../servers/forward-proxy.ts';
import { describeWithOpenssl, type PrivateAuthority, privateAuthority } from '../../servers/private-authority.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { newBucket } from './s3-fixture.ts';

const PUT_ONCE = fileURLToPath(new URL('./put-once.ts', import.meta.url));

async function putOnce(server: S3Server, bucket: string, env: Readonly<Record<string, string>>): Promise<string> {
  const args = [PUT_ONCE, server.endpoint, bucket, server.accessKeyId, server.secretAccessKey];
  const clean = environmentWithoutProxy();
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...clean, ...env } });
  return stdout.trim();
}

async function proxy(): Promise<ForwardProxy> {
  const started = await startForwardProxy();
  onTestFinished(() => started.stop());
  return started;
}

describeWithServers('an S3 store in a network', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  test('goes through the proxy that the environment names', async () => {
    const { bucket } = await newBucket(server);
    const { url, passed } = await proxy();
    expect(await putOnce(server, bucket, { HTTP_PROXY: url })).toBe('read back 300000');
    expect(passed.length).toBeGreaterThanOrEqual(1);
    expect(new Set(passed)).toEqual(new Set([new URL(server.endpoint).host]));
  });

  test('goes past the proxy for what NO_PROXY names', async () => {
    const { bucket } = await newBucket(server);
    const { url, passed } = await proxy();
    expect(await putOnce(server, bucket, { HTTP_PROXY: url, NO_PROXY: new URL(server.endpoint).hostname })).toBe(
      'read back 300000',
    );
    expect(passed).toEqual([]);
  });
});

describeWithOpenssl('an S3 store before a server with a certificate of its own authority', () => {
  describeWithServers('(real server)', () => {
    let server: S3Server;
    let bucket: string;
    let authority: PrivateAuthority;
    beforeAll(async () => {
      authority = privateAuthority(await serverName());
      server = await startS3Server({ certificate: authority });
      bucket = `tls-bucket`;
      // Made by a process that trusts it: this one does not.
      const script = fileURLToPath(new URL('./make-bucket.ts', import.meta.url));
      const args = [script, server.endpoint, bucket, server.accessKeyId, server.secretAccessKey];
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: authority.certFile };
      await promisify(execFile)(process.execPath, args, { env });
    }, SERVER_START_MS);
    afterAll(async () => {
      await server?.stop();
      authority?.remove();
    });

    test('says that it does not trust it, and what to set', async () => {
      expect(await putOnce(server, bucket, {})).toMatch(
        /^storage\/tls: .*a certificate that this machine does not trust/,
      );
    });

    test('trusts it by NODE_EXTRA_CA_CERTS, also through a proxy', async () => {
      const trust = { NODE_EXTRA_CA_CERTS: authority.certFile };
      expect(await putOnce(server, bucket, trust)).toBe('read back 300000');
      const { url, passed } = await proxy();
      expect(await putOnce(server, bucket, { ...trust, HTTPS_PROXY: url })).toBe('read back 300000');
      expect(passed.length).toBeGreaterThanOrEqual(1);
    });
  });
});
