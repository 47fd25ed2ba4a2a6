import { describe, expect, test } from 'vitest';
import { parseBlockHash, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { ChainHeader } from '../../src/node/chain-node.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { archiveScene } from '../app/archive-under-test.ts';
import { FakeBlobNode, NOW_SECONDS } from '../app/fake-blob-node.ts';
import { commitment, craftBlock, craftTransaction, doubleSha } from '../verify/craft.ts';

const HEADER_BYTES = 80;
const NEVER = new AbortController().signal;
const text = (label: string) => Buffer.from(`the bytes of ${label}`);
const keccak = (label: string) => Buffer.from(nobleHasher.keccak256(text(label)));
const plain = craftTransaction({ sequence: 1 });

/** A chain with these transactions in one block, after its coinbase. */
class CraftedNode extends FakeBlobNode {
  readonly #block: Buffer;

  constructor(transactions: readonly Buffer[]) {
    super();
    this.#block = craftBlock([plain, ...transactions]);
    const hash = parseBlockHash(doubleSha(this.#block.subarray(0, HEADER_BYTES)).reverse().toString('hex'));
    this.tipValue = { ...this.tipValue, height: 1, hash };
  }

  override async blockHashAt(height: number) {
    return height === this.tipValue.height ? this.tipValue.hash : null;
  }

  override async header(): Promise<ChainHeader> {
    const times = { timeSeconds: NOW_SECONDS, medianTimeSeconds: NOW_SECONDS };
    return { hash: this.tipValue.hash, height: 0, previousHash: null, ...times };
  }

  override async rawBlock() {
    return this.#block;
  }

  /** Gives the node bytes of this label under their keccak256. */
  publishBytes(label: string): void {
    const versionHash = parseVersionHash(keccak(label).toString('hex'));
    const blob = verifyBlob({ versionHash, hashType: 'keccak256', bytes: text(label) }, nobleHasher);
    if (blob !== null) this.publish(blob);
  }
}

describe('crafted blocks', () => {
  test('a transaction of version 137 with no or two content outputs is reported and counted, and delays no other one', async () => {
    const node = new CraftedNode([
      craftTransaction({ version: 137, sequence: 2, scripts: [Buffer.of(0x51)] }),
      craftTransaction({ version: 137, sequence: 3, scripts: [commitment(keccak('b')), commitment(keccak('c'))] }),
      craftTransaction({ version: 137, sequence: 4, scripts: [commitment(keccak('a'))] }),
    ]);
    node.publishBytes('a');
    node.publishBytes('b');
    const scene = await archiveScene({ node, startHeight: 1 });
    const stored = new Promise<void>((resolve) => {
      const seen = () => {
        if (scene.archive.status().content.stored === 2) resolve();
      };
      scene.archive.activity.on('stored', seen);
    });
    const walked = new Promise((resolve) => scene.archive.activity.once('walked', resolve));
    scene.start();
    await Promise.all([walked, stored]);
    expect(scene.archive.status().chain).toMatchObject({ height: 1, unclearTransactions: 2 });
    expect(scene.log.join()).toMatch(/is of version 137 and names no content/);
    expect(scene.log.join()).toMatch(
      /is of version 137 and has 2 outputs that name content.*output 0, which nodes check, alone is archived/,
    );
    const report = await scene.archive.auditChain({ from: null, to: null }, NEVER);
    expect(report).toMatchObject({ unclearTransactions: 2, occurrences: { stored: 2 } });
  });

  test('bytes that match the version hash by the wrong hash type are refused', async () => {
    const disagreeing = keccak('d');
    const node = new CraftedNode([
      craftTransaction({ version: 137, sequence: 2, scripts: [commitment(disagreeing, 1)] }),
      craftTransaction({ version: 137, sequence: 3, scripts: [commitment(keccak('e'))] }),
    ]);
    node.publishBytes('e');
    const scene = await archiveScene({ node, startHeight: 1 });
    const walked = new Promise((resolve) => scene.archive.activity.once('walked', resolve));
    const stored = new Promise((resolve) => scene.archive.activity.once('stored', resolve));
    scene.start();
    await Promise.all([walked, stored]);
    const failed = new Promise((resolve) =>
      scene.archive.activity.on('failed', ({ code }) => code === 'archive/wrong-bytes' && resolve(code)),
    );
    node.publishBytes('d');
    await failed;
    const versionHash = parseVersionHash(disagreeing.toString('hex'));
    const lookup = await scene.archive.record({ hashType: 'blake2s256', versionHash }, NEVER);
    expect(lookup).toMatchObject({
      record: {
        state: 'seen',
        hashType: 'blake2s256',
        lastFailure: {
          code: 'archive/wrong-bytes',
          message: expect.stringContaining('not by blake2s256, which is what the chain commits to'),
        },
      },
    });
    expect(scene.archive.status().content).toMatchObject({ stored: 1, seen: 1 });
  });
});
