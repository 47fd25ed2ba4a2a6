import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const BUILD = fileURLToPath(new URL('../../config/build-sbom.ts', import.meta.url));
const LIBRARY = 'the bytes of the allocator';

/** A list as npm makes it, another one at each moment. */
const made = (moment: string) => ({
  bomFormat: 'CycloneDX',
  serialNumber: `urn:uuid:${moment}`,
  metadata: { timestamp: moment, tools: [{ name: 'cli' }], component: { 'bom-ref': 'holdfast@0.1.0' } },
  components: [{ 'bom-ref': 'a@1.0.0', name: 'a', version: '1.0.0' }],
  dependencies: [
    { ref: 'holdfast@0.1.0', dependsOn: ['a@1.0.0'] },
    { ref: 'a@1.0.0', dependsOn: [] },
  ],
});

async function built(bom: unknown): Promise<{ code: number | null; list: string }> {
  const folder = temporaryFolder();
  const [named, library] = [join(folder, 'allocator.package'), join(folder, 'libjemalloc.so.2')];
  writeFileSync(named, 'libjemalloc2 5.3.0-1+b1 amd64');
  writeFileSync(library, LIBRARY);
  const child = spawn(process.execPath, [BUILD, named, library], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.end(JSON.stringify(bom));
  return { list: await text(child.stdout), code: await ended };
}

test('two builds of one commit list the same, whatever number and time npm gives its list', async () => {
  const [first, second] = await Promise.all([built(made('2026-01-01T00:00:00Z')), built(made('2026-01-02T00:00:00Z'))]);
  expect([first.code, second]).toEqual([0, first]);
  expect(first.list).not.toContain('2026');
});

test('the allocator is in the list, with its version, its licence and the hash of the file that is loaded', async () => {
  const { list } = await built(made('2026-01-01T00:00:00Z'));
  expect(JSON.parse(list)).toMatchObject({
    metadata: { tools: [{ name: 'cli' }] },
    components: [
      { name: 'a' },
      {
        name: 'libjemalloc2',
        version: '5.3.0-1+b1',
        purl: 'pkg:deb/debian/libjemalloc2@5.3.0-1%2Bb1?arch=amd64',
        licenses: [{ license: { id: 'BSD-2-Clause' } }],
        hashes: [{ alg: 'SHA-512', content: createHash('sha512').update(LIBRARY).digest('hex') }],
      },
    ],
    dependencies: [
      { ref: 'holdfast@0.1.0', dependsOn: ['a@1.0.0', 'libjemalloc2@5.3.0-1+b1'] },
      { ref: 'a@1.0.0' },
      { ref: 'libjemalloc2@5.3.0-1+b1', dependsOn: [] },
    ],
  });
});

test('a list that is not one of npm fails the build', async () => {
  expect(await built({ components: [] })).toEqual({ code: 1, list: '' });
});
