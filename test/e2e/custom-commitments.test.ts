import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { customPath } from '../../src/storage/object-store.ts';
import { S3Store } from '../../src/storage/s3/s3-store.ts';
import { atEndOfTest } from '../cleanup.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../servers/availability.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { customName } from '../storage/custom-conformance.ts';
import { damage } from '../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop } from './archive-process.ts';
import { s3Environment } from './backends/real-backends.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';

const BYTES = sampleBytes('committed to by a hash that no dialect knows', 900);
const NAME = customName(parseVersionHash(createHash('sha512-256').update(BYTES).digest('hex')), BYTES);
const ROUTE = `/v1/custom/${NAME.versionHash}/${NAME.keccak}`;

describeWithServers('a custom commitment in the data folder and in a bucket', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => s3?.stop());

  async function scene() {
    const node = await startNode({ dialect: 'svc', workload: null });
    const { options, env } = await s3Environment(s3);
    const store = await S3Store.open(options);
    atEndOfTest(() => store.close());
    const setup = { dataDir: temporaryFolder(), node, env: { ...env, HOLDFAST_NODE_DIALECT: 'svc' } };
    const daemon = await startArchiveHere(setup);
    node.submitBlob(BYTES, { hashType: 'keccak256', versionHash: NAME.versionHash });
    node.mine(3);
    await eventually(async () => expect((await daemon.client.get(ROUTE)).status).toBe(200));
    await eventually(async () => expect((await store.get(NAME, NEVER))?.length).toBe(BYTES.length));
    const run = (...words: string[]) => holdfastHere(words, { env: environmentOf(setup) });
    // The object is in the bucket before it is read back and counts as a copy.
    await eventually(async () => expect((await run('check')).stdout).not.toContain('a first copy'));
    const file = join(setup.dataDir, customPath(NAME));
    const rot = () => damage(s3, options.bucket, customPath(NAME), sampleBytes('rotten', 900));
    return { node, store, setup, daemon, run, file, rot };
  }

  test('is checked, repaired from a whole copy, found again without a catalog, and taken down everywhere', async () => {
    const { store, setup, daemon, run, file, rot } = await scene();
    const whole = await run('check', '--read-data');
    expect(whole.code, whole.stdout).toBe(0);
    expect(whole.stdout).toMatch(/^s3 +\| custom commitments \| +1 \| +1 \| +0 \| +0 \|/m);
    await stop(daemon);

    // Rotten in the bucket: the listing tells nothing, reading does.
    await rot();
    expect(await run('check')).toMatchObject({ code: 0 });
    const rotten = await run('check', '--read-data');
    expect([rotten.code, rotten.stdout]).toEqual([
      3,
      expect.stringContaining(`damaged s3 custom ${NAME.versionHash}/${NAME.keccak}`),
    ]);
    const mended = await run('check', '--read-data', '--repair');
    expect([mended.code, mended.stdout]).toEqual([0, expect.stringContaining('1 copy was brought back')]);
    expect(await store.get(NAME, NEVER)).toHaveLength(BYTES.length);

    // Gone from the folder, and the catalog with it.
    await rm(file);
    for (const end of ['', '-wal', '-shm']) await rm(join(setup.dataDir, `catalog.sqlite${end}`), { force: true });
    const rebuilt = await run('rebuild', '--from', 's3');
    expect([rebuilt.code, rebuilt.stdout]).toEqual([0, expect.stringContaining('s3: 1 custom commitments found')]);
    expect((await run('check', '--repair')).code).toBe(0);
    expect(existsSync(file)).toBe(true);

    const again = await startArchiveHere(setup);
    await eventually(async () => expect((await again.client.get(ROUTE)).status).toBe(200));
    const down = await run('withhold', NAME.versionHash, '--reason', 'court order 18', '--purge');
    expect([down.code, down.stdout]).toEqual([0, expect.stringContaining('local: custom commitments deleted')]);
    expect(down.stdout).toContain('s3: custom commitments deleted');
    expect((await again.client.get(ROUTE)).status).toBe(451);
    expect([existsSync(file), await store.get(NAME, NEVER)]).toEqual([false, null]);
    expect((await run('check', '--read-data')).code).toBe(0);
    // The node still has it: a daemon that runs could bring it back before the command looks for a copy.
    await stop(again);
    const back = await run('withhold', NAME.versionHash, '--revoke');
    expect(back.stdout).toContain('No good copy was found');
    const last = await startArchiveHere(setup);
    await eventually(async () => expect((await last.client.get(ROUTE)).status).toBe(200));
  });

  test('is listed as lost when no copy is whole, with exit code 3, until the node gives it again', async () => {
    const { store, setup, daemon, run, file } = await scene();
    await stop(daemon);
    await rm(file);
    await store.purge({ customOf: NAME.versionHash }, NEVER);
    expect((await run('check')).code).toBe(3);
    const repaired = await run('check', '--repair');
    expect([repaired.code, repaired.stdout]).toEqual([
      3,
      expect.stringContaining(`LOST    local custom ${NAME.versionHash}/${NAME.keccak}`),
    ]);
    expect(repaired.stdout).toContain('holdfast run');
    const again = await startArchiveHere(setup);
    await eventually(async () => expect((await again.client.get(ROUTE)).status).toBe(200));
    await eventually(async () => expect(await store.get(NAME, NEVER)).toHaveLength(BYTES.length));
    // Until the object is read back, the copy counts as missing.
    await eventually(async () => expect((await run('check', '--read-data')).code).toBe(0));
  });
});
