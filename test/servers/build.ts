/**
 * `node test/servers/build.ts [name …]`: builds the pinned servers before the tests, so that CI shows it as a step of its
 * own and keeps the folder that it prints. Without it the first test that needs a server builds it.
 */
import { type BinaryName, goBinary, PINNED } from './go-binary.ts';

const names = Object.keys(PINNED).filter((name): name is BinaryName => name in PINNED);
const wanted = process.argv.slice(2);
for (const name of names) {
  if (wanted.length === 0 || wanted.includes(name)) process.stdout.write(`${await goBinary(name)}\n`);
}
