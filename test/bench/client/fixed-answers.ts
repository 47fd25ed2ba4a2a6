import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * Another process that answers every request from memory, so that the figures are those of the client.
 * Sends its port and the answer's version hash.
 */
const BLOB_BYTES = 2_097_152;
const versionHash = randomBytes(32).toString('hex');
const blob = Buffer.from(
  `{"result":{"versionhash":"${versionHash}","mtp":1,"datasize":${BLOB_BYTES},"txid":"${versionHash}","data":"${randomBytes(BLOB_BYTES).toString('hex')}"},"error":null,"id":"0"}\n`,
);
const count = Buffer.from('{"result":126,"error":null,"id":"holdfast"}\n');

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const answer = body.includes('getnevmblobdata') ? blob : count;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
    response.end(answer);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0, versionHash });
});
