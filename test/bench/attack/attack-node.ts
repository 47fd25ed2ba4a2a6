/**
 * An emulated node in a process of its own. It prints its address and the blobs that it begins with as one JSON line. Its
 * blocks come every second with more bytes than a full chain brings.
 */
import { createDevnode, type WorkItem } from '../../../src/devnode/index.ts';

const LARGE = { sizeBytes: 2_097_152, count: 8 };
const SMALL = { sizeBytes: 1_024, count: 60 };

function arrivalOf(height: number): WorkItem[] {
  const small = (index: number): WorkItem => {
    return { label: `small ${height} ${index}`, sizeBytes: 1_024, hashType: 'keccak256' };
  };
  // 2 MiB in four seconds; a full chain brings them in 4.7.
  const full: WorkItem[] =
    height % 4 === 0 ? [{ label: `full ${height}`, sizeBytes: LARGE.sizeBytes, hashType: 'keccak256' }] : [];
  return [small(1), small(2), ...full];
}

const node = await createDevnode({ workload: (_seed, height) => arrivalOf(height) });

function submit(name: string, { sizeBytes, count }: { sizeBytes: number; count: number }): string[] {
  return Array.from({ length: count }, (_, index) => {
    const { versionHash } = node.submitLabelled({ label: `${name} ${index}`, sizeBytes, hashType: 'keccak256' });
    if (index % 20 === 19) node.mine();
    return versionHash;
  });
}

const large = submit('first large', LARGE);
const small = submit('first small', SMALL);
node.mine();
node.setBlocksEvery(1_000);
const url = node.url.replace('//', `//${node.username}:${node.password}@`);
process.stdout.write(`${JSON.stringify({ url, large, small })}\n`);
process.on('disconnect', () => process.exit());
