import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE_FLAGS } from '../../../src/node-flags.mjs';
import { fakeSentinel } from '../../backfill/source/imitations.ts';
import { atEndOfTest } from '../../cleanup.ts';
import { ROOT, shellBlocks } from '../../docs/markdown.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { bareClient, newBucket } from '../../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { ArchiveClient } from '../archive-client.ts';
import { PASSWORD, startNode } from '../archive-process.ts';
import { type OldBlob, passTime, publishBlocks } from '../backfill/history.ts';
import { eventually } from '../eventually.ts';

const PAGE = readFileSync(join(ROOT, 'config/README.md'), 'utf8');
const SECTION = PAGE.slice(
  PAGE.indexOf('## Moving in from Sentinel'),
  PAGE.indexOf('## Backup and the disaster drill'),
);
/** The commands as they are typed: the list around them indents them. */
const BLOCKS = shellBlocks({ path: 'config/README.md', text: SECTION.replaceAll(/^ {3}/gm, '') });

/** Sentinel's form, not written by Holdfast: the key is the version hash, the body hex text. */
async function writeAsSentinel(server: S3Server, bucket: string, blobs: readonly OldBlob[]): Promise<void> {
  const client = bareClient(server);
  for (const { versionHash, bytes } of blobs) {
    const Body = Buffer.from(bytes).toString('hex');
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: versionHash, Body }));
  }
  client.destroy();
}

/** A folder with the command `holdfast`, for the search path. */
function folderOfCommand(): string {
  const folder = temporaryFolder();
  const words = [process.execPath, ...NODE_FLAGS, join(ROOT, 'src/cli/main.ts')].map((word) => `'${word}'`);
  writeFileSync(join(folder, 'holdfast'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  chmodSync(join(folder, 'holdfast'), 0o755);
  return folder;
}

/** A shell that runs one block after the other, as a person types them. */
function shell(env: Readonly<Record<string, string>>, cwd: string) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'));
  return (script: string) => {
    const child = spawn('bash', ['-ec', script], {
      cwd,
      // A group of its own: a stop reaches the command behind the shell.
      detached: true,
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const ended = once(child, 'close').then(([code]) => ({ code: Number(code ?? -1), said }));
    const stop = async () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      return await ended;
    };
    atEndOfTest(stop);
    const url = async () => {
      const found = () => /"url":"([^"]+)"/.exec(said)?.[1];
      await eventually(() => expect(found(), said).toBeDefined());
      return found() ?? '';
    };
    return { ended, stop, url };
  };
}

describeWithServers('the move from Sentinel, typed as the documentation has it', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server.stop());

  test('reads what Sentinel wrote, fills it up from a peer, and ends in a bucket of its own form', async () => {
    const [setUp = '', backfill = '', both = '', check = '', ...others] = BLOCKS;
    expect(others).toEqual([]);
    const node = await startNode({ username: 'holdfast' });
    const published = publishBlocks(node, 'of old', 2, 4);
    const blobs = published.filter(({ hashType }) => hashType === 'keccak256');
    const all = published.filter(({ hashType }) => hashType === 'blake2s256');
    passTime(node);
    const [theirs, ours] = [await newBucket(server), await newBucket(server)];
    await writeAsSentinel(server, theirs.bucket, blobs);
    const peer = await fakeSentinel(new Map(all.map(({ versionHash, bytes }) => [versionHash, bytes])));

    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'node'), PASSWORD);
    writeFileSync(join(cwd, 's3'), server.secretAccessKey);
    /** Only what the page says is to be replaced: addresses, names and files. */
    const own = (text: string) =>
      text
        .replaceAll(/http:\/\/(node|127\.0\.0\.1):8370/g, node.url)
        .replaceAll('https://s3.example', server.endpoint)
        .replaceAll('https://sentinel.example', peer.endpoint)
        .replaceAll('us-east-1', server.region)
        .replaceAll('my-sentinel-bucket', theirs.bucket)
        .replaceAll('my-blobs', ours.bucket)
        .replaceAll('/run/secrets/', `${cwd}/`)
        .replaceAll('ACCESS_KEY_ID=holdfast', `ACCESS_KEY_ID=${server.accessKeyId}`)
        .replaceAll('accessKeyId: holdfast', `accessKeyId: ${server.accessKeyId}`);
    const example = readFileSync(join(ROOT, 'config/from-sentinel.yaml'), 'utf8');
    writeFileSync(join(cwd, 'config/from-sentinel.yaml'), own(example));
    const type = shell(
      {
        PATH: `${folderOfCommand()}:${process.env['PATH'] ?? ''}`,
        HOLDFAST_HTTP_PORT: '0',
        HOLDFAST_NODE_POLL_MS: '100',
      },
      cwd,
    );
    const environment = setUp
      .split('\n')
      .filter((line) => line.startsWith('export '))
      .join('\n');

    const first = type(own(setUp));
    const client = new ArchiveClient(await first.url());
    for (const { versionHash, bytes } of blobs) {
      await eventually(async () => expect((await client.blob(versionHash)).body.equals(bytes)).toBe(true));
    }
    const from = String(blobs[0]?.height);
    const filled = await type(own(`${environment}\n${backfill}`).replace('--from-height 1', `--from-height ${from}`))
      .ended;
    for (const { versionHash, bytes } of all) {
      expect((await client.blob(versionHash)).body.equals(bytes), filled.said).toBe(true);
    }
    expect(filled.code, filled.said).toBe(0);
    await first.stop();

    const second = type(own(`${environment}\n${both}`));
    const moved = new ArchiveClient(await second.url());
    await eventually(async () => {
      const { backends, content } = await moved.status();
      expect({ backends, content }).toMatchObject({
        backends: [
          { id: 's3', state: 'good', queued: 0 },
          { id: 's3:sentinel', state: 'good', queued: 0 },
        ],
      });
      expect(content.stored).toBeGreaterThanOrEqual(blobs.length + all.length);
    });
    const unset = both
      .split('\n')
      .filter((line) => line.startsWith('unset '))
      .join('\n');
    const checked = await type(own(`${environment}\n${unset}\n${check}`)).ended;
    expect(checked, checked.said).toMatchObject({ code: 0 });
    await second.stop();
  });
});
