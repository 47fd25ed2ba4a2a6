import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { environmentWithoutProxy, type ForwardProxy, startForwardProxy } from '../../servers/forward-proxy.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';

const PUT_ONCE = fileURLToPath(new URL('./put-once.ts', import.meta.url));

describeWithServers('an IPFS store in a network', () => {
  let server: KuboServer;
  beforeAll(async () => {
    server = await startKubo();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  async function putOnce(env: Readonly<Record<string, string>>): Promise<string> {
    const clean = environmentWithoutProxy();
    const { stdout } = await promisify(execFile)(process.execPath, [PUT_ONCE, server.apiUrl], {
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
    expect(await putOnce({ HTTP_PROXY: url, NO_PROXY: '127.0.0.1' })).toBe('Kubo 0.42.0, read back 300000');
    expect(passed).toEqual([]);
  });
});
