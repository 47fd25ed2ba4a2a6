import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createClient, type NodeCall, NodeError, NodeRpcError } from '../../src/client.ts';
import { writeLossless } from '../../src/node/lossless-json.ts';
import { fakeNode } from './fake-node.ts';
import { bodyWithId, RECORDINGS, type Recording } from './recordings.ts';

/** A call that returns its result undecoded, to test transport, status, envelope and numbers. */
const asRead: NodeCall<unknown> = {
  operation: 'getBlockCount',
  named: {},
  limitBytes: 1_000_000,
  decode: (result) => result,
};

async function answered(recording: Recording): Promise<unknown> {
  const { response } = recording;
  const fake = await fakeNode((answer) => {
    const type = response.headers['content-type'];
    answer.writeHead(response.status, type === undefined ? {} : { 'content-type': type });
    answer.end(response.body.startsWith('{') ? bodyWithId(recording, 'holdfast') : response.body);
  });
  const client = createClient({ url: fake.url, dialect: 'syscoin-5' });
  onTestFinished(() => client.close());
  return client.run(asRead).catch((error: unknown) => error);
}

const named = RECORDINGS.map((one, index) => [`${index} ${one.name}`, one] as const);

test('the recording has all 97 exchanges', () => {
  expect(RECORDINGS).toHaveLength(97);
});

test.each(named)('%s', async (_name, recording) => {
  const { status, body } = recording.response;
  const outcome = await answered(recording);
  const answer: unknown = body.startsWith('{') ? JSON.parse(body) : null;
  const error = typeof answer === 'object' && answer !== null && 'error' in answer ? answer.error : null;
  if (error !== null) {
    expect(outcome).toBeInstanceOf(NodeRpcError);
    const { code, message } = z.object({ code: z.int(), message: z.string() }).parse(error);
    expect(outcome).toMatchObject({
      rpcCode: code,
      rpcMessage: expect.stringContaining(message.slice(0, 400)),
    });
  } else if (answer !== null) {
    // Every digit survives: 49.99993560 stays the same.
    expect(`{"result":${writeLossless(outcome)}`).toBe(body.slice(0, body.lastIndexOf(',"error":null')));
  } else {
    expect(outcome).toBeInstanceOf(NodeError);
    const code = status === 401 ? 'node/unauthorized' : status === 200 ? 'node/malformed-answer' : 'node/not-a-node';
    expect(outcome).toMatchObject({ code });
  }
});
