import { request } from 'node:http';
import { z } from 'zod';
import { seededBytes } from '../../src/devnode/chain/seeded-bytes.ts';
import type { Devnode } from '../../src/devnode/index.ts';
import type { RecordedComparison } from './recorded-comparison.ts';

const Exchange = z.object({
  name: z.string(),
  request: z.object({
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullish(),
  }),
  response: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.string() }),
});
export type Exchange = z.infer<typeof Exchange>;

export function parseExchanges(text: string): Exchange[] {
  return z.array(Exchange).parse(JSON.parse(text));
}

/** Sends the recorded request to the emulated node and compares the answers. */
export async function replay(devnode: Devnode, exchange: Exchange, rule: RecordedComparison): Promise<string[]> {
  const headers = credentialed(exchange, devnode);
  const answer = await send(
    devnode.url,
    exchange.request.method,
    exchange.request.path,
    headers,
    bodyOf(exchange, rule),
  );
  const { response } = exchange;
  const found: string[] = [];
  if (answer.status !== response.status) found.push(`status ${response.status}, ours ${answer.status}`);
  for (const name of ['content-type', 'www-authenticate']) {
    if (answer.headers[name] !== response.headers[name]) {
      found.push(`${name}: ${response.headers[name]}, ours ${answer.headers[name]}`);
    }
  }
  const length = Buffer.byteLength(answer.text);
  if (answer.headers['content-length'] !== String(length)) found.push(`content-length is not ${length}`);
  if (response.headers['content-length'] !== String(length)) {
    found.push(`content-length ${response.headers['content-length']}, ours ${length}`);
  }
  if (ELIDED.test(response.body)) found.push(...elidedDifferences(response.body, answer.text, rule));
  else if (/^[{[]/.test(response.body)) found.push(...rule.differences(response.body, answer.text));
  else if (response.body !== answer.text) found.push(`body ${response.body}, ours ${answer.text}`);
  return found;
}

/** Recordings elide the middle of long hex. Only size and version hash of such a blob are known. */
const ELIDED = /…?<(\d+) chars elided>…?/;

function bodyOf(exchange: Exchange, rule: RecordedComparison): string {
  const text = exchange.request.body ?? '';
  const bytes = elidedContent(exchange);
  if (bytes === null) return rule.translate(text);
  return text.replace(/[0-9a-f]+…<\d+ chars elided>…[0-9a-f]+/, bytes.toString('hex'));
}

/** Replacement bytes for a blob whose middle was not recorded. */
export function elidedContent({ request: { body }, name }: Exchange): Buffer | null {
  if (!ELIDED.test(body ?? '')) return null;
  return seededBytes(name, name.includes('+ 1') ? 2_097_153 : 2_097_152);
}

/**
 * Compares the recorded start and end of an elided answer. The start ends inside a hash, and the end begins inside the
 * data.
 */
function elidedDifferences(recorded: string, ours: string, rule: RecordedComparison): string[] {
  const [head = '', , tail = ''] = recorded.split(ELIDED);
  const start = rule.translate(head.replace(/[0-9a-f]*$/, ''));
  const end = tail.replace(/^[0-9a-f]*/, '');
  if (!ours.startsWith(start)) return [`start ${start}, ours ${ours.slice(0, start.length)}`];
  return ours.endsWith(end) ? [] : [`end ${end}, ours ${ours.slice(-end.length)}`];
}

function credentialed({ name, request: { headers } }: Exchange, devnode: Devnode): Record<string, string> {
  const { authorization, ...rest } = headers;
  if (authorization === undefined) return rest;
  const password = name === 'wrong password' ? 'wrong' : devnode.password;
  const text = Buffer.from(`${devnode.username}:${password}`).toString('base64');
  return { ...rest, authorization: `Basic ${text}` };
}

interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

function send(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
