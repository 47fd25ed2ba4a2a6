import { expect, test } from 'vitest';
import { NodeGroup } from '../../src/chain/node-group.ts';
import { HoldfastError } from '../../src/core/blob/errors.ts';
import { FakeBlobNode, GENESIS } from '../app/fake-blob-node.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';

const REST_MS = 30_000;
const noAnswer = () => new HoldfastError('node/timeout', 'No answer.', { retryable: true, hint: 'Look at the node.' });

/** Two nodes, the second of which gives no blobs; both have answered that they are on the archive's chain. */
function group() {
  const [first, second] = [new FakeBlobNode(), new FakeBlobNode()];
  const clock = { nowMs: 5 };
  const nodes = new NodeGroup([first, second], async () => GENESIS, { steadyMs: () => clock.nowMs });
  second.fetching = async () => {
    throw noAnswer();
  };
  const hole = new FakeBlobNode().publish(sampleBlob('hole', 100));
  const kinds = async (attempts = 0) =>
    (await nodes.fetchBlobs([{ ...hole, attempts }], NEVER)).map((outcome) =>
      outcome.kind === 'failed' ? outcome.error.message : outcome.kind,
    );
  return { first, second, clock, kinds };
}

test('a node that failed is not asked again within its rest, and its failure counts as no absence', async () => {
  const { first, second, clock, kinds } = group();
  for (const attempts of [0, 1, 2, 3]) expect(await kinds(attempts)).toEqual(['No answer.']);
  expect([first, second].map(({ requests }) => requests.length)).toEqual([4, 1]);
  clock.nowMs += REST_MS;
  for (const attempts of [4, 5]) expect(await kinds(attempts)).toEqual(['No answer.']);
  expect(second.requests).toHaveLength(2);
});

test('a node that failed is asked within its rest when no other node answers', async () => {
  const { first, second, kinds } = group();
  await kinds();
  first.fetching = second.fetching;
  await expect(kinds()).rejects.toThrow('No answer.');
  expect(second.requests).toHaveLength(2);
});

test('after its rest one request asks a node that failed, while others go on without it', async () => {
  const { second, clock, kinds } = group();
  await kinds();
  clock.nowMs += REST_MS;
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  second.fetching = async () => {
    second.fetching = async () => [{ kind: 'absent' }];
    asked.resolve();
    await answered.promise;
    return [{ kind: 'absent' }];
  };
  const first = kinds();
  await asked.promise;
  expect(await kinds()).toEqual(['No answer.']);
  answered.resolve();
  expect(await first).toEqual(['absent']);
  // Once it has answered, its word counts at once.
  expect(await kinds()).toEqual(['absent']);
});

test('a node that is asked again for blobs stays the first for all other questions', async () => {
  const first = new FakeBlobNode();
  const second = new (class extends FakeBlobNode {
    override readonly name = 'http://second';
  })();
  const clock = { nowMs: 5 };
  const nodes = new NodeGroup([first, second], async () => GENESIS, { steadyMs: () => clock.nowMs });
  const hole = new FakeBlobNode().publish(sampleBlob('hole', 100));
  first.fetching = async () => {
    throw noAnswer();
  };
  await nodes.fetchBlobs([hole], NEVER);
  expect(nodes.name).toBe(second.name);
  clock.nowMs += REST_MS;
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  first.fetching = async () => {
    asked.resolve();
    await answered.promise;
    return [{ kind: 'absent' }];
  };
  const asking = nodes.fetchBlobs([hole], NEVER);
  await asked.promise;
  expect(nodes.name).toBe(first.name);
  answered.resolve();
  await asking;
});
