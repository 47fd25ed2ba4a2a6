import { expect, test } from 'vitest';
import { GatheredQuestion } from '../../../src/storage/ipfs/gathered-question.ts';
import { NEVER } from '../../sample-blobs.ts';

/** Requests that are answered when the test says so. */
function heldBack(limit: number) {
  const requests: { items: readonly number[]; answer: (answers: readonly string[]) => void; fail: () => void }[] = [];
  const question = new GatheredQuestion<number, string>((items) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    requests.push({ items, answer: resolve, fail: () => reject(new Error('refused')) });
    return promise;
  }, limit);
  const answerNext = (index: number) => requests[index]?.answer((requests[index]?.items ?? []).map(String));
  return { question, requests, answerNext };
}

test('the first is asked at once, what comes meanwhile is asked together, up to the limit', async () => {
  const { question, requests, answerNext } = heldBack(2);
  const asked = [1, 2, 3, 4].map((item) => question.ask(item, NEVER));
  expect(requests.map(({ items }) => items)).toEqual([[1]]);
  answerNext(0);
  expect(await asked[0]).toBe('1');
  answerNext(1);
  expect(await Promise.all(asked.slice(1, 3))).toEqual(['2', '3']);
  answerNext(2);
  expect(await asked[3]).toBe('4');
  expect(requests.map(({ items }) => items)).toEqual([[1], [2, 3], [4]]);
});

test('a failure reaches every caller of that request and no other caller', async () => {
  const { question, requests, answerNext } = heldBack(8);
  const asked = [1, 2, 3].map((item) => question.ask(item, NEVER));
  answerNext(0);
  await asked[0];
  requests[1]?.fail();
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  const later = question.ask(4, NEVER);
  answerNext(2);
  expect(await later).toBe('4');
});

test('a caller that aborts leaves alone, with the reason; too few answers are an error, not an answer', async () => {
  const { question, requests } = heldBack(8);
  const leaving = new AbortController();
  const asked = [question.ask(1, leaving.signal), question.ask(2, NEVER)];
  leaving.abort(new Error('enough'));
  await expect(asked[0]).rejects.toThrow('enough');
  requests[0]?.answer(['1']);
  await expect.poll(() => requests.length).toBe(2);
  requests[1]?.answer([]);
  await expect(asked[1]).rejects.toThrow('0 answers for 1 questions');
});
