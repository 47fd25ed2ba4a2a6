import { expect, test } from 'vitest';
import type { SourceAnswer } from '../../src/backfill/source/backfill-source.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { Peer } from '../../src/federation/peer.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

const BLOB = sampleBlob('asked of a peer', 50);
const RIGHT: SourceAnswer = { kind: 'bytes', candidates: [BLOB.bytes] };
const WRONG: SourceAnswer = { kind: 'bytes', candidates: [new Uint8Array(3)] };
const MINUTE_MS = 60_000;

function peer(ratePerSecond = 1_000, name = 'peer http://peer', called: string | null = 'berlin') {
  const clock = { ms: 0 };
  const log = createLogger('fatal', { write: () => {} });
  const conditions = new ConditionBoard(log, () => clock.ms);
  const scene = { answer: WRONG as SourceAnswer | Error, said: null as unknown, asked: 0 };
  const source = {
    name,
    async find() {
      scene.asked += 1;
      if (scene.answer instanceof Error) throw scene.answer;
      return scene.answer;
    },
    async question() {
      if (scene.said instanceof Error) throw scene.said;
      return scene.said;
    },
    size: async () => null,
    close: async () => {},
  };
  const verifier = {
    verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, nobleHasher),
  };
  const made = new Peer(source, {
    verifier,
    conditions,
    called,
    ratePerSecond,
    clock: { wallMs: () => clock.ms, steadyMs: () => clock.ms },
  });
  return { peer: made, clock, scene, codes: () => conditions.all().map(({ code }) => code) };
}

test('a peer that gives wrong bytes rests for twice as long each time, and right bytes make up for all', async () => {
  const { peer: liar, clock, scene, codes } = peer();
  for (const minutes of [1, 2, 4, 8]) {
    const before = scene.asked;
    expect(await liar.help(nameOf(BLOB), NEVER)).toBeNull();
    expect(scene.asked).toBe(before + 2);
    clock.ms += minutes * MINUTE_MS - 1;
    expect([await liar.help(nameOf(BLOB), NEVER), scene.asked, liar.status.state]).toEqual([
      null,
      before + 2,
      'left-alone',
    ]);
    clock.ms += 1;
  }
  expect(codes()).toEqual(['peer/wrong-bytes']);
  scene.answer = RIGHT;
  expect((await liar.help(nameOf(BLOB), NEVER))?.bytes).toEqual(BLOB.bytes);
  expect([codes(), liar.status]).toMatchObject([[], { state: 'good', gave: 1, wrongBytes: 4 }]);
});

test('a caller that may not go on without an answer asks a peer that rests as well', async () => {
  const { peer: liar, scene } = peer();
  await liar.help(nameOf(BLOB), NEVER);
  expect(await liar.find(nameOf(BLOB), NEVER)).toBe('wrong-bytes');
  scene.answer = { kind: 'absent' };
  expect(await liar.find(nameOf(BLOB), NEVER)).toBeNull();
  scene.answer = RIGHT;
  expect(await liar.find(nameOf(BLOB), NEVER)).toEqual({ ...nameOf(BLOB), bytes: BLOB.bytes });
});

test.each([
  ['does not answer', new Error('no route'), 'no route'],
  ['may not give it out', { kind: 'withheld' } as const, 'That archive withholds the blob (451).'],
])('a peer that %s has not said that it has not got the blob', async (_says, answer, why) => {
  const { peer: silent, scene } = peer();
  scene.answer = answer;
  await expect(silent.find(nameOf(BLOB), NEVER)).rejects.toThrow(why);
});

test('a blob that a rule of the peer leaves out is not there, and that is told apart from what it lacks', async () => {
  const { peer: ruled, scene, codes } = peer();
  scene.answer = { kind: 'absent', byRule: true };
  expect(await ruled.claim(nameOf(BLOB), NEVER)).toBe('not-archived-by-rule');
  expect(await ruled.find(nameOf(BLOB), NEVER)).toBeNull();
  expect(codes()).toEqual([]);
});

test('a lie stays told when the peer then says that it has not got another blob', async () => {
  const { peer: liar, scene, codes } = peer();
  await liar.find(nameOf(BLOB), NEVER);
  scene.answer = { kind: 'absent' };
  await liar.find(nameOf(BLOB), NEVER);
  expect(codes()).toEqual(['peer/wrong-bytes']);
});

test('a peer says whether it answers, whatever it was asked last, and until when it is left alone', async () => {
  const { peer: asked, clock, scene, codes } = peer();
  expect(asked.status).toMatchObject({ state: 'not-asked', leftAloneUntil: null });
  // A bucket or folder is not asked for what only an archive answers.
  await asked.question('v1/inventory', NEVER);
  expect(asked.status.state).toBe('not-asked');
  scene.said = new Error('no route');
  await expect(asked.question('v1/inventory', NEVER)).rejects.toThrow('no route');
  expect(asked.status.state).toBe('silent');
  scene.answer = new Error('no route');
  await asked.help(nameOf(BLOB), NEVER);
  expect([asked.status.state, codes()]).toEqual(['silent', ['peer/no-answer']]);
  scene.said = { format: 1 };
  await asked.question('v1/inventory', NEVER);
  expect([asked.status.state, codes()]).toEqual(['good', []]);
  scene.answer = WRONG;
  clock.ms = MINUTE_MS;
  await asked.help(nameOf(BLOB), NEVER);
  const told = { state: 'left-alone', leftAloneUntil: '1970-01-01T00:02:00.000Z' };
  expect(asked.status).toMatchObject(told);
  clock.ms = 2 * MINUTE_MS;
  // Statements about itself take no lie back.
  await asked.question('v1/inventory', NEVER);
  expect([asked.status, codes()]).toMatchObject([{ state: 'good', leftAloneUntil: null }, ['peer/wrong-bytes']]);
});

test.each([
  ['peer https://archive.example', null, { name: 'peer-2', addresses: ['https://archive.example'] }],
  ['folder /mnt/other', 'berlin', { name: 'berlin', addresses: ['/mnt/other'] }],
  ['s3 blobs/tenant?layout=sentinel', null, { name: 's3 peer-2', addresses: ['s3 blobs/tenant?layout=sentinel'] }],
  ['s3 holdfast', 'berlin', { name: 's3 berlin', addresses: ['s3 holdfast'] }],
])('%s, called %s, has a public name for what messages give', (name, called, place) => {
  expect(peer(1, name, called).peer.publicPlace('peer-2')).toEqual(place);
});
