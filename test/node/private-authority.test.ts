import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { describeWithOpenssl, privateAuthority } from '../servers/private-authority.ts';

/**
 * Asks in another process, because Node reads NODE_EXTRA_CA_CERTS at its start. Resolves to the answer or the error's
 * code.
 */
async function askedWith(env: Record<string, string>, url: string): Promise<string> {
  const client = new URL('../../src/client.ts', import.meta.url).href;
  const program = `
    const { createClient, getBlockCount } = await import(${JSON.stringify(client)});
    const client = createClient({ url: ${JSON.stringify(url)}, dialect: 'syscoin-5', retry: { repetitions: 0, firstDelayMs: 0, maxDelayMs: 0 } });
    process.stdout.write(String(await getBlockCount(client).catch((error) => error.code + ' ' + error.details.reason)));
    await client.close();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, ...env },
  });
  return stdout;
}

describeWithOpenssl('a node behind a private certificate authority', () => {
  test('a private authority is trusted only with NODE_EXTRA_CA_CERTS', async () => {
    const authority = privateAuthority();
    onTestFinished(() => authority.remove());
    const server = createServer({ cert: readFileSync(authority.certFile), key: readFileSync(authority.keyFile) });
    server.on('request', (_request, response) => response.end('{"result":126,"error":null,"id":"holdfast"}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    const url = `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    expect(await askedWith({ NODE_EXTRA_CA_CERTS: authority.certFile }, url)).toBe('126');
    expect(await askedWith({}, url)).toMatch(/^node\/unreachable .*SELF_SIGNED/);
  });
});
