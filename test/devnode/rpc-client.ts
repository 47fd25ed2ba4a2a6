import { z } from 'zod';
import type { Devnode } from '../../src/devnode/index.ts';

/** One HTTP answer, unparsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends the body unchanged and returns the answer unparsed. */
export async function post(devnode: Devnode, body: string, path = '/'): Promise<Answer> {
  const authorization = `Basic ${Buffer.from(`${devnode.username}:${devnode.password}`).toString('base64')}`;
  const response = await fetch(devnode.url + path, { method: 'POST', headers: { authorization }, body });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const CallResult = z.object({
  result: z.unknown(),
  error: z.object({ code: z.number(), message: z.string() }).nullable(),
});

/** The whole response object of one call. */
export async function call(
  devnode: Devnode,
  method: string,
  params: unknown = [],
  path = '/',
): Promise<z.infer<typeof CallResult> & { status: number }> {
  const { status, text } = await post(devnode, JSON.stringify({ jsonrpc: '1.0', id: 't', method, params }), path);
  return { status, ...CallResult.parse(JSON.parse(text)) };
}
