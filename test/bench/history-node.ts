/**
 * An emulated node in a process of its own, with a chain of so many blocks that hold so many small blobs each: the
 * words. All of it is history: the blocks of the window behind them are empty. Prints its address and height as one
 * JSON line.
 */
import { createDevnode } from '../../src/devnode/index.ts';

const WINDOW_BLOCKS = 200;
const [blocks = 0, blobs = 0] = process.argv.slice(2).map(Number);
const node = await createDevnode({ clock: { nowSeconds: () => 1_790_000_000 }, workload: null });
let number = 0;
for (let block = 0; block < blocks; block += 1) {
  for (let blob = 0; blob < blobs; blob += 1) {
    number += 1;
    node.submitLabelled({ label: `history ${number}`, sizeBytes: 16, hashType: 'keccak256' });
  }
  node.advanceSeconds(150);
  node.mine();
}
for (let block = 0; block < WINDOW_BLOCKS; block += 1) {
  node.advanceSeconds(150);
  node.mine();
}
const url = node.url.replace('//', `//${node.username}:${node.password}@`);
process.stdout.write(`${JSON.stringify({ url, height: node.chain.tip.height - WINDOW_BLOCKS })}\n`);
process.on('disconnect', () => process.exit());
