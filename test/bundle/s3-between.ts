import { once } from 'node:events';
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { z } from 'zod';
import { atEndOfTest } from '../cleanup.ts';

/** A question to an S3 server, as it passes by. */
export interface Passing {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly isRange: boolean;
}

/**
 * `hold`: never answered. `lose`: the server answers, the client gets nothing. `damage`: one byte of the answer is another;
 * `damage sent`: one byte of what is sent.
 */
export type Deed = 'pass' | 'hold' | 'lose' | 'damage' | 'damage sent';

export interface Between {
  readonly deedOf: (passing: Passing) => Deed;
  readonly onAnswered?: (passing: Passing) => void;
}

/** Stands before a real S3 server, and gives its own address: the host is signed as the client names it. */
export async function s3Between(endpoint: string, { deedOf, onAnswered }: Between): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', endpoint);
    const { method = 'GET', headers } = request;
    const passing = { method, query: url.searchParams, isRange: headers.range !== undefined };
    const deed = deedOf(passing);
    if (deed === 'hold') {
      request.resume();
      return;
    }
    const onward = ask(url, { method, headers }, (answer) => {
      answer.on('end', () => onAnswered?.(passing));
      giveBack(answer, response, deed);
    });
    onward.on('error', () => response.destroy());
    const sent = deed === 'damage sent' ? request.pipe(damaging()) : request;
    sent.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOfTest(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return `http://127.0.0.1:${port}`;
}

/** Changes the first byte that passes. */
function damaging(): Transform {
  let isDue = true;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (isDue) chunk[0] = (chunk[0] ?? 0) ^ 1;
      isDue = false;
      done(null, chunk);
    },
  });
}

function giveBack(answer: IncomingMessage, response: ServerResponse, deed: Deed): void {
  if (deed === 'lose') {
    answer.resume().on('end', () => response.destroy());
    return;
  }
  response.writeHead(answer.statusCode ?? 500, answer.headers);
  (deed === 'damage' ? answer.pipe(damaging()) : answer).pipe(response);
}
