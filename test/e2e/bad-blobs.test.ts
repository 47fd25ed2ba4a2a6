import { describe, expect, test } from 'vitest';
import { BACKOFF, longestBackoffMs } from '../../src/core/time/backoff.ts';
import type { Devnode, FaultRule } from '../../src/devnode/index.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { listBlobs } from '../../src/storage/object-store.ts';
import { beforeAllSharing } from '../cleanup.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { PASSWORD, type RunningArchive, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { eventually } from './eventually.ts';

const GIB = 1_073_741_824;
/** A blob that failed again and again is asked for after this pause at the latest. The slower the machine, the longer the pause. */
const LONGEST_PAUSE_MS = longestBackoffMs(BACKOFF.blob);
const PATIENCE_MS = 120_000;

/** Faults of one blob, the code that its record then shows, and what it says: also after its block was read. */
const FAULTS: readonly (readonly [name: string, fault: FaultRule['fault'], code: string, says: RegExp])[] = [
  ['wrong bytes', { kind: 'wrong-bytes' }, 'archive/wrong-bytes', /hash to it (neither|not) by keccak256/],
  ['too many bytes', { kind: 'wrong-size', byBytes: 1 }, 'node/wrong-blob', /sends \d+/],
  ['too few bytes', { kind: 'wrong-size', byBytes: -1 }, 'node/wrong-blob', /sends \d+/],
  ['an odd number of digits', { kind: 'odd-hex' }, 'node/malformed-answer', /not hex/],
  ['digits that are none', { kind: 'non-hex' }, 'node/malformed-answer', /not hex/],
  ['no data', { kind: 'no-data' }, 'node/malformed-answer', /without the data/],
  ['an error of the node', { kind: 'rpc-error', code: -1, message: 'no' }, 'node/rpc-error', /\(-1\): no/],
  ['a denial', { kind: 'rpc-error', code: -32602, message: ABSENT() }, 'archive/absent-at-node', /has not got it/],
  ['half an answer', { kind: 'half-json', bytes: 60 }, 'node/malformed-answer', /ends in the middle/],
  ['a cut connection', { kind: 'truncate', bytes: 60 }, 'node/connection-lost', /broke/],
  ['a page of HTML', { kind: 'html', status: 200 }, 'node/not-a-node', /text\/html/],
  ['an empty body', { kind: 'empty-body' }, 'node/not-a-node', /empty body/],
  ['a body of 1 GiB', { kind: 'huge-body', bytes: GIB }, 'node/body-too-large', /cut it off/],
];

function ABSENT(): string {
  return 'Could not find blob information for versionhash 00';
}

interface Sick {
  readonly name: string;
  readonly code: string;
  readonly says: RegExp;
  readonly versionHash: string;
  readonly bytes: Uint8Array;
}

let node: Devnode;
let daemon: RunningArchive;
let dataDir: string;
let sick: Sick[];
const GOOD = 40;

/** The sick ones are nearest to their deadline: a queue that one of them holds up never comes to the good ones. */
beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  dataDir = temporaryFolder(atEnd);
  sick = FAULTS.map(([name, fault, code, says], index) => {
    const sizeBytes = index % 2 === 0 ? 90_000 + index : 300 + index;
    const { versionHash } = node.submitLabelled({ label: name, sizeBytes, hashType: 'keccak256' });
    node.faults.add({ fault, hash: versionHash, methods: ['getnevmblobdata'] });
    return { name, code, says, versionHash, bytes: sampleBytes(name, sizeBytes) };
  });
  node.mine();
  for (let block = 0; block < 6; block += 1) {
    node.advanceSeconds(150);
    node.mine();
  }
  for (let index = 0; index < GOOD; index += 1) {
    const sizeBytes = index % 2 === 0 ? 80_000 : 400 + index;
    node.submitLabelled({ label: `good ${index}`, sizeBytes, hashType: 'blake2s256' });
  }
  node.mine(2);
  daemon = await startArchiveHere({ dataDir, node, atEnd });
});

describe('blobs that do not come as they should', () => {
  test('hold up none of the others, though they are more urgent', async () => {
    await eventually(async () => {
      const { content } = await daemon.client.status();
      expect(content).toMatchObject({ stored: GOOD, failing: FAULTS.length });
    });
  });

  test.each(FAULTS.map(([name], index) => [name, index] as const))(
    '%s: the record says why, the bytes are 503 and never served',
    async (_name, index) => {
      const one = sick[index];
      const { versionHash, code, says } = one ?? expect.fail();
      // Blobs that were asked for in one batch share what went wrong with it; asked for again, each has its own.
      const { state } = await eventually(async () => {
        const record = await daemon.client.record(versionHash);
        expect(record.lastFailure).toMatchObject({ code, message: expect.stringMatching(says) });
        return record;
      });
      expect(state).toBe('seen');
      expect(await daemon.client.blob(versionHash)).toMatchObject({ status: 503 });
      const old = await daemon.client.get(`/vh/${versionHash}`);
      expect(old.status).toBe(503);
      expect(old.body.toString()).not.toMatch(/^[0-9a-f]*$/);
    },
  );

  test('the status and the log tell of them', async () => {
    const { conditions } = await daemon.client.status();
    const told = conditions.find(({ code }) => code === 'archive/blobs-failing');
    expect(told?.message).toMatch(/^\d+ of the blobs that are listed or on chain could not be taken over/);
    expect(daemon.output).toContain('"code":"archive/blobs-failing"');
    expect(daemon.output).not.toContain(PASSWORD);
  });

  test(
    'come when the node is repaired, and nothing tells of them any more',
    async () => {
      node.faults.clear();
      await untilStored(daemon, GOOD + FAULTS.length, LONGEST_PAUSE_MS + PATIENCE_MS);
      for (const { versionHash, bytes } of sick) {
        expect((await daemon.client.blob(versionHash)).body.equals(bytes)).toBe(true);
        expect((await daemon.client.record(versionHash)).lastFailure).toBeNull();
      }
      await eventually(async () => {
        expect(await daemon.client.readiness()).toMatchObject({ status: 200, conditions: [] });
      });
    },
    LONGEST_PAUSE_MS + 3 * PATIENCE_MS,
  );

  test('left nothing wrong behind: the folder holds what was published, and nothing else', async () => {
    await stop(daemon);
    const store = await LocalStore.open(dataDir);
    let count = 0;
    for await (const _entry of listBlobs(store, NEVER)) count += 1;
    await store.close();
    expect(count).toBe(GOOD + FAULTS.length);
  });
});
