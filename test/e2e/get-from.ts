import { get } from 'node:http';

/** Asks from another address of this machine: that is another client. */
export function getFrom(localAddress: string, url: string): Promise<{ status: number | undefined; body: Buffer }> {
  return new Promise((resolve, reject) => {
    get(url, { localAddress, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode, body: Buffer.concat(parts) }));
    }).once('error', reject);
  });
}
