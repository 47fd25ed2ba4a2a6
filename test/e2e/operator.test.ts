import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsOf, PAGES, shellBlocks } from '../docs/markdown.ts';
import { describeWithServers, SERVER_START_MS } from '../servers/availability.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { newBucket } from '../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ArchiveClient } from './archive-client.ts';
import { PASSWORD, startNode } from './archive-process.ts';
import { eventually } from './eventually.ts';
import { HoldfastHere, holdfastHere } from './holdfast-here.ts';

const BLOCKS = PAGES.filter(({ path }) => path === 'config/README.md').flatMap(shellBlocks);
const blockWith = (text: string) => BLOCKS.find((block) => block.includes(text)) ?? '';

/** The words behind `holdfast` in the first command of a block with this verb. */
function wordsOf(block: string, verb: string): string[] {
  const found = commandsOf(block).find(([command, first]) => command === 'holdfast' && first === verb);
  if (found === undefined) throw new Error(`The page shows no holdfast ${verb} there.`);
  return found.slice(1);
}

describeWithServers('the first day of an operator, by the lines of the documentation', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server.stop());

  test('from init to an archive that stores into a bucket, and to a check for cron that says 0 while it is healthy and 1 without a node', async () => {
    const node = await startNode({ username: 'holdfast' });
    const { bucket } = await newBucket(server);
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'node'), PASSWORD);
    writeFileSync(join(cwd, 's3'), server.secretAccessKey);
    /** Only what is the operator's own is replaced: addresses, names and files. */
    const own = (text: string) =>
      text
        .replaceAll('http://node:8370', node.url)
        .replaceAll('my-blobs', bucket)
        .replaceAll('/run/secrets/', `${cwd}/`)
        .replace('--s3-access-key-id holdfast', `--s3-access-key-id ${server.accessKeyId}`);

    const firstDay = own(blockWith('holdfast init'));
    const exported = [...firstDay.matchAll(/(HOLDFAST_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]);
    const ofThisServer = { HOLDFAST_S3_ENDPOINT: server.endpoint, HOLDFAST_S3_REGION: server.region };
    const env = {
      ...Object.fromEntries(exported),
      ...ofThisServer,
      HOLDFAST_HTTP_PORT: '0',
      HOLDFAST_NODE_POLL_MS: '100',
    };
    expect(exported).toHaveLength(2);

    const made = await holdfastHere(wordsOf(firstDay, 'init'), { cwd, env });
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^good {3}node: [\s\S]*^good {3}s3/m)]);
    const daemon = new HoldfastHere(wordsOf(firstDay, 'run'), { cwd, env });
    const [, url = ''] = await daemon.says(/"url":"([^"]+)"/);

    const { versionHash } = node.submitLabelled({ label: 'of the first day', sizeBytes: 1_000, hashType: 'keccak256' });
    node.mine(1);
    const client = new ArchiveClient(url);
    await eventually(async () => expect((await client.status()).content.stored).toBe(1));
    expect((await client.blob(versionHash)).body).toHaveLength(1_000);

    const cron = wordsOf(blockWith('status --check'), 'status');
    expect(cron).toContain('--check');
    await eventually(async () => expect((await holdfastHere(cron, { cwd, env })).code).toBe(0));
    await node.close();
    await eventually(async () => expect((await holdfastHere(cron, { cwd, env })).code).toBe(1));
  });
});
