import { expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlockHex } from '../../src/verify/block.ts';
import { blocks } from '../verify/recorded-chain.ts';
import { Scene } from './archive-on-devnode.ts';
import { RecordedNode, Refusal } from './recorded-node.ts';

const at = (height: number) => blocks.find(({ view }) => view.height === height) ?? { hex: '', view: { hash: '' } };
/** The last byte is in the lock time of the last transaction, which its id covers; witnesses are not covered. */
const flipped = (hex: string) => `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`;

/** Witnesses are not covered by ids: the signature of the last transaction that has one loses a bit. */
function witnessFlipped(hex: string): string {
  const signed = parseBlockHex(hex).transactions.findLast(({ hasWitness }) => hasWitness);
  const signature = encodeHex(signed?.firstWitness()[0] ?? new Uint8Array());
  return hex.replace(signature, flipped(signature));
}

const BAD: readonly [string, string, (hex: string) => unknown][] = [
  ['is cut', 'chain/bad-block', (hex) => hex.slice(0, -40)],
  ['has another Merkle root than its transactions', 'chain/bad-block', flipped],
  ['has witnesses that nobody signed', 'chain/bad-block', witnessFlipped],
  ['is another one', 'chain/wrong-block', () => at(116).hex],
  [
    'was pruned',
    'chain/pruned-block',
    () => {
      throw new Refusal(-1, 'Block not available (pruned data)');
    },
  ],
];

test.each(BAD)(
  'a block that %s: told as %s, not skipped; the list goes on, and the walk when it comes right',
  async (_what, code, spoil) => {
    const node = await RecordedNode.listen();
    const { hash } = at(115).view;
    node.alter = (method, first, result) => (method === 'getblock' && first === hash ? spoil(at(115).hex) : result);
    const scene = await Scene.create({ env: { HOLDFAST_NODE_URL: node.url, HOLDFAST_START_HEIGHT: '111' } });
    await scene.start();
    await scene.until('told', () => scene.conditions().includes(code));
    await scene.until('the list', () => scene.archive.status().content.stored === 20);
    expect(scene.archive.status().chain.height).toBe(114);
    expect(scene.conditions()).toContain('chain/walk-behind');
    expect(await scene.audit(121)).toMatchObject({
      isComplete: false,
      unexamined: [{ from: 115, to: 121 }],
    });
    node.alter = (_method, _first, result) => result;
    await scene.until('the walk', () => scene.archive.status().chain.height === 121);
    await scene.until('well', () => scene.conditions().length === 0);
  },
);

test.each(BAD)(
  'a block that %s at the first node: the walk goes on with that of another',
  async (_what, code, spoil) => {
    const [bad, good] = [await RecordedNode.listen(), await RecordedNode.listen()];
    const { hash } = at(115).view;
    bad.alter = (method, first, result) => (method === 'getblock' && first === hash ? spoil(at(115).hex) : result);
    const env = { HOLDFAST_NODE_URL: `${bad.url} ${good.url}`, HOLDFAST_START_HEIGHT: '111' };
    const scene = await Scene.create({ env });
    await scene.start();
    await scene.until('the walk', () => scene.archive.status().chain.height === 121);
    expect(scene.conditions()).not.toContain(code);
    // The first one's other answers are still heard first.
    expect(scene.archive.status().node.name).toBe(bad.url.replace('u:p@', ''));
  },
);
