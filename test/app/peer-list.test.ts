import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openPeers } from '../../src/app/open-sources.ts';
import { loadConfig } from '../../src/config/index.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { Peer } from '../../src/federation/peer.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { misbehavingServer, object, s3Error } from '../storage/misbehaving-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const IN_BUCKET = sampleBlob('in a bucket', 40);
const IN_FOLDER = sampleBlob('in a folder', 50);
const NOWHERE = sampleBlob('in no place', 60);

/** A bucket with one blob in it, a folder with another, and the peers that a list makes of both. */
async function peersOf(list: (folder: string) => unknown) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, IN_FOLDER.versionHash), IN_FOLDER.bytes);
  const server = await misbehavingServer(({ key }, response) => {
    if (key.includes(IN_BUCKET.versionHash)) object(response, IN_BUCKET.bytes);
    else s3Error(response, 404, 'NoSuchKey');
  });
  const file = join(temporaryFolder(), 'holdfast.json');
  const s3 = { endpoint: server.endpoint, accessKeyId: 'id', secretAccessKey: 'key', addressing: 'path' };
  writeFileSync(file, JSON.stringify({ peers: list(folder), s3 }));
  const { values } = loadConfig({ env: {}, flags: {}, file, cwd: folder });
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), SYSTEM_CLOCK.wallMs);
  const verifier = {
    verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, nobleHasher),
  };
  const peers = await openPeers(values, { verifier, conditions, clock: SYSTEM_CLOCK });
  onTestFinished(async () => {
    for (const peer of peers) await peer.close();
  });
  return { peers, folder, asked: server.asked };
}

const given = async (peer: Peer, blob: VerifiedBlob) =>
  Uint8Array.from((await peer.help(nameOf(blob), NEVER))?.bytes ?? []);

test.each([
  ['text', (folder: string) => `s3=theirs/blobs?layout=sentinel dir=${folder}`],
  [
    'a list with names',
    (folder: string) => [
      { source: 's3=theirs/blobs?layout=sentinel', name: 'bucket' },
      { source: `dir=${folder}`, name: 'disk' },
    ],
  ],
])(
  'a bucket and a folder are peers, given as %s: each gives what it has, and says what it has not',
  async (says, list) => {
    const { peers, folder, asked } = await peersOf(list);
    const [bucket, disk] = peers;
    if (bucket === undefined || disk === undefined) throw new RangeError('two peers were named');
    expect(await given(bucket, IN_BUCKET)).toEqual(IN_BUCKET.bytes);
    expect(await given(disk, IN_FOLDER)).toEqual(IN_FOLDER.bytes);
    expect(asked.every(({ path }) => path.startsWith('/theirs/blobs/'))).toBe(true);
    // Before a loss is recorded, each has to say that it lacks the bytes.
    for (const peer of peers) expect(await peer.find(nameOf(NOWHERE), NEVER)).toBeNull();
    for (const { status } of peers) expect(status).toMatchObject({ state: 'good', gave: 1, absent: 1, wrongBytes: 0 });
    // Neither answers what only an archive answers, and neither is silent for that.
    for (const peer of peers) expect(await peer.question('v1/inventory', NEVER)).toBeNull();
    const sources = ['s3 theirs/blobs?layout=sentinel', `dir ${folder}`];
    expect(peers.map(({ sourceName }) => sourceName)).toEqual(sources);
    expect(peers.map(({ name }) => name)).toEqual(says === 'text' ? sources : ['s3 bucket', 'dir disk']);
  },
);
