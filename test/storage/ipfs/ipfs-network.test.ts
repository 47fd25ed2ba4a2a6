import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { environmentWithoutProxy, type ForwardProxy, startForwardProxy } from '../../servers/forward-proxy.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';
import { describeWithOpenssl, privateAuthority } from '../../servers/private-authority.ts';
import { startTlsFront } from '../../servers/tls-front.ts';

const PUT_ONCE = fileURLToPath(new URL('./put-once.ts', import.meta.url));

describeWithServers('an IPFS store in a network', () => {
  let server: KuboServer;
  beforeAll(async () => {
    server = await startKubo();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  async function putOnce(env: Readonly<Record<string, string>>, apiUrl = server.apiUrl): Promise<string> {
    const clean = environmentWithoutProxy();
    const { stdout } = await promisify(execFile)(process.execPath, [PUT_ONCE, apiUrl], {
      env: { ...clean, ...env },
    });
    return stdout.trim();
  }

  async function proxy(): Promise<ForwardProxy> {
    const started = await startForwardProxy();
    onTestFinished(() => started.stop());
    return started;
  }

  test('goes through the proxy that the environment names, with every command', async () => {
    const { url, passed } = await proxy();
    expect(await putOnce({ HTTP_PROXY: url })).toBe('Kubo 0.42.0, read back 300000');
    expect(passed.length).toBeGreaterThanOrEqual(2);
    expect(new Set(passed)).toEqual(new Set([new URL(server.apiUrl).host]));
  });

  test('goes past the proxy for what NO_PROXY names', async () => {
    const { url, passed } = await proxy();
    expect(await putOnce({ HTTP_PROXY: url, NO_PROXY: new URL(server.apiUrl).hostname })).toBe(
      'Kubo 0.42.0, read back 300000',
    );
    expect(passed).toEqual([]);
  });

  describeWithOpenssl('(certificates)', () => {
    test('trusts a private authority by NODE_EXTRA_CA_CERTS, also through a proxy', async () => {
      const authority = privateAuthority();
      onTestFinished(() => authority.remove());
      const front = await startTlsFront(authority, new URL(server.apiUrl));
      onTestFinished(() => front.stop());
      await expect(putOnce({}, front.url)).rejects.toThrow(/storage\/tls/);
      const trust = { NODE_EXTRA_CA_CERTS: authority.certFile };
      expect(await putOnce(trust, front.url)).toBe('Kubo 0.42.0, read back 300000');
      const { url, passed } = await proxy();
      expect(await putOnce({ ...trust, HTTPS_PROXY: url }, front.url)).toBe('Kubo 0.42.0, read back 300000');
      expect(new Set(passed)).toEqual(new Set([new URL(front.url).host]));
    });
  });
});
