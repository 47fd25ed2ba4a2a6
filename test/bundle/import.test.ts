import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { HoldfastHere, holdfastHere } from '../e2e/holdfast-here.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { HOUR_BLOCKS, Scene } from '../scenario/archive-on-devnode.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { archived, reported as jsonOf, recordsIn } from './archived-scene.ts';

const reported = z.looseObject({
  exitCode: z.number(),
  taken: z.number(),
  unusable: z.array(z.object({ path: z.string(), why: z.string() })),
});

async function imported(dataDir: string, ...sources: string[]) {
  const { code, report } = await jsonOf(dataDir, 'import', ...sources);
  return { code, report: reported.parse(report) };
}

/** An archive with blobs and their records, which runs no more. */
async function stopped(blobs: number): Promise<Scene> {
  const scene = await archived(blobs);
  await scene.stop();
  return scene;
}

/** An archive that was away while the node pruned blobs: those are lost. */
async function withLosses(count: number) {
  const scene = await Scene.create({ time: 'real' });
  await scene.start();
  scene.mine(1);
  await scene.caughtUp();
  await scene.stop();
  scene.mine(1, count);
  scene.mine(7 * HOUR_BLOCKS);
  await scene.start();
  await scene.until('lost', () => scene.archive.status().chain.lost === count);
  return scene;
}

describe('one lost blob, and a good file in hand', () => {
  const RUNBOOK = readFileSync(fileURLToPath(new URL('../../config/RUNBOOK.md', import.meta.url)), 'utf8');

  test('the lines of the runbook end the loss', async () => {
    const scene = await withLosses(1);
    const [blob] = scene.blobs;
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'blob.bin'), blob?.bytes ?? '');
    const [, entry = ''] = /## HoldfastBlobLost\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(RUNBOOK) ?? [];
    const lines = entry
      .trim()
      .split('\n')
      .map((line) => line.split(' ').slice(1));
    expect(lines.map(([verb]) => verb)).toEqual(['check', 'import', 'check']);
    const codes: number[] = [];
    for (const words of lines) {
      const { code } = await holdfastHere([...words, '--data-dir', scene.dataDir], { cwd });
      codes.push(code ?? -1);
    }
    expect(codes).toEqual([3, 0, 0]);
    expect((await scene.record(blob?.versionHash ?? ''))?.state).toBe('stored');
    expect(scene.archive.losses()).toEqual([]);
  });

  test('a file with one wrong byte is named, not taken, and the loss stands', async () => {
    const scene = await withLosses(1);
    const file = join(temporaryFolder(), 'blob.bin');
    const wrong = Uint8Array.from(scene.blobs[0]?.bytes ?? []);
    wrong[7] = (wrong[7] ?? 0) ^ 1;
    writeFileSync(file, wrong);
    const { code, report } = await imported(scene.dataDir, file);
    expect(code).toBe(3);
    expect(report).toMatchObject({ exitCode: 3, taken: 0, unusable: [{ path: file }] });
    expect(scene.archive.status().chain.lost).toBe(1);
  });
});

describe('beside a daemon', () => {
  test('a folder is searched by hash: any names, raw, as hex text, in tarballs; what is not usable is named', async () => {
    const scene = await withLosses(5);
    const [raw, hex, tarred, zipped, sentinel] = scene.blobs;
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'below', 'it'), { recursive: true });
    writeFileSync(join(folder, 'below', 'it', 'holiday.jpg'), raw?.bytes ?? '');
    writeFileSync(join(folder, 'notes.txt'), `0x${encodeHex(hex?.bytes ?? new Uint8Array()).toUpperCase()}\n`);
    writeFileSync(join(folder, sentinel?.versionHash ?? ''), encodeHex(sentinel?.bytes ?? new Uint8Array()));
    const packed = temporaryFolder();
    writeFileSync(join(packed, 'one'), tarred?.bytes ?? '');
    symlinkSync('/etc/hostname', join(packed, 'link'));
    await create({ cwd: packed, file: join(folder, 'a.tar') }, ['one', 'link']);
    writeFileSync(join(packed, 'two'), zipped?.bytes ?? '');
    await create({ cwd: packed, file: join(folder, 'b'), gzip: true }, ['two']);
    writeFileSync(join(folder, 'stranger'), 'nobody asked for this');
    writeFileSync(join(folder, 'huge'), new Uint8Array(5_000_000));
    const { code, report } = await imported(scene.dataDir, folder);
    expect(report).toMatchObject({ taken: 5, found: 5, notStored: 0, notPlacedCount: 0, unusableCount: 3 });
    expect(report.unusable.map(({ path }) => path.slice(folder.length + 1)).toSorted()).toEqual([
      'a.tar: link',
      'huge',
      'stranger',
    ]);
    expect(code).toBe(3);
    expect(scene.archive.losses()).toEqual([]);
    for (const { versionHash } of scene.blobs) expect((await scene.record(versionHash))?.state).toBe('stored');
    // Again: everything is here.
    const again = await imported(scene.dataDir, folder);
    expect(again.report).toMatchObject({ taken: 0, alreadyHeld: 5, unusableCount: 3 });
  });

  test('an address is read as a file is, and what it answers instead of the bytes is no blob', async () => {
    const scene = await withLosses(1);
    const server = createServer((request, response) => {
      if (request.url === '/blob') response.end(gzipSync(scene.blobs[0]?.bytes ?? ''));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = z.object({ port: z.number() }).parse(server.address());
    const missing = await holdfastHere(['import', `http://127.0.0.1:${port}/none`, '--data-dir', scene.dataDir]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain('status 404');
    const { code, report } = await imported(scene.dataDir, `http://127.0.0.1:${port}/blob`);
    expect({ code, ...report }).toMatchObject({ code: 0, taken: 1, found: 1 });
  });

  test('interrupted, it says what was taken, which is passed over the next time', async () => {
    const scene = await withLosses(1);
    const file = join(temporaryFolder(), 'blob.bin');
    writeFileSync(file, scene.blobs[0]?.bytes ?? '');
    const asked = Promise.withResolvers<void>();
    const silent = createServer(() => asked.resolve());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { port } = z.object({ port: z.number() }).parse(silent.address());
    const words = ['import', file, `http://127.0.0.1:${port}/never`, '--data-dir', scene.dataDir];
    const command = new HoldfastHere(words);
    await asked.promise;
    command.kill('SIGINT');
    const { code, stderr } = await command.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('1 blob was taken and kept.');
    expect(await imported(scene.dataDir, file)).toMatchObject({ code: 0, report: { taken: 0, alreadyHeld: 1 } });
  });

  test('withheld content is not taken, and not counted as wrong', async () => {
    const scene = await withLosses(1);
    const [blob] = scene.blobs;
    await holdfastHere(['withhold', blob?.versionHash ?? '', '--reason', 'order 7', '--data-dir', scene.dataDir]);
    const file = join(temporaryFolder(), 'blob.bin');
    writeFileSync(file, blob?.bytes ?? '');
    const { code, report } = await imported(scene.dataDir, file);
    expect({ code, ...report }).toMatchObject({ code: 0, taken: 0, withheld: 1, unusableCount: 0 });
    expect(scene.archive.status().withheld).toMatchObject({ count: 1 });
  });
});

describe('alone, without any node', () => {
  test('records prove what the chain was not asked for, wherever they lie', async () => {
    const scene = await stopped(6);
    const folder = temporaryFolder();
    for (const [index, { bytes }] of scene.blobs.entries()) writeFileSync(join(folder, `${index}`), bytes);
    cpSync(join(scene.dataDir, 'occurrences'), join(folder, 'zzz'), { recursive: true });
    const dataDir = temporaryFolder();
    const { code, report } = await imported(dataDir, folder);
    expect({ code, ...report }).toMatchObject({ code: 0, taken: 6, byRecord: 6, records: 6, notPlacedCount: 0 });
    expect(report).toMatchObject({ notStored: 0, unusableCount: 0 });
  });

  test('a record of another blob, or one that was changed, proves nothing', async () => {
    const scene = await stopped(2);
    const [name = ''] = recordsIn(scene.dataDir);
    const text = readFileSync(join(scene.dataDir, 'occurrences', name), 'utf8');
    const folder = temporaryFolder();
    const proven = scene.blobs.find(({ versionHash }) => name.includes(versionHash));
    writeFileSync(join(folder, 'blob'), proven?.bytes ?? '');
    writeFileSync(join(folder, 'record.json'), text.replace(/"vout": \d+/, '"vout": 77'));
    const changed = await imported(temporaryFolder(), folder);
    expect(changed.report).toMatchObject({ exitCode: 3, taken: 0, records: 0, unusableCount: 2 });
    writeFileSync(join(folder, 'record.json'), text);
    const whole = await imported(temporaryFolder(), folder);
    expect(whole.report).toMatchObject({ exitCode: 0, taken: 1, byRecord: 1, records: 1 });
  });

  test('content that only its file names is kept, and reported as not placed yet', async () => {
    const scene = await stopped(1);
    const [blob] = scene.blobs;
    const folder = temporaryFolder();
    writeFileSync(join(folder, `${blob?.versionHash}.bin`), blob?.bytes ?? '');
    writeFileSync(join(folder, `${'ab'.repeat(32)}.bin`), sampleBytes('not what its name says', 50));
    const { code, report } = await imported(temporaryFolder(), folder);
    expect(report).toMatchObject({ taken: 1, notPlacedCount: 1, unusableCount: 1 });
    expect(report['notPlaced']).toEqual([{ hashType: blob?.hashType, versionHash: blob?.versionHash }]);
    expect(code).toBe(3);
  });

  test('a source that is not there is an error of the command, and says what to do', async () => {
    const ended = await holdfastHere(['import', '/nowhere/at/all', '--data-dir', temporaryFolder()]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('/nowhere/at/all cannot be read');
  });
});
