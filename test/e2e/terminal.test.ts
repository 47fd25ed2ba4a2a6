import { expect, test } from 'vitest';
import { describeWithCommand } from '../ops/with-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { passTime, publishBlocks } from './backfill/history.ts';
import { HoldfastProcess, LAUNCHER } from './holdfast-process.ts';
import { silentServer } from './silent-server.ts';
import { readerThatStops } from './stopped-reader.ts';

const CTRL_C = '\x03';
const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves and colours begins with one.
const CONTROL = /\x1b\[[\d;?]*[A-Za-z]|\r|\^C/g;

/** Types Ctrl-C; gives the exit code, the lines that a person reads after it, and whether the cursor is back. */
async function interrupted(command: HoldfastProcess) {
  const before = command.stdout.length;
  command.type(CTRL_C);
  const { code, stdout } = await command.ended;
  const shown = command.stdout.subarray(before).toString('utf8').replaceAll(CONTROL, '');
  return {
    code,
    // Progress is told until the key is read.
    lines: shown.split('\n').filter((line) => line !== '' && !/^\w+: [\w ]*\d+/.test(line)),
    isCursorShown: stdout.lastIndexOf(SHOW_CURSOR) >= stdout.lastIndexOf(HIDE_CURSOR),
  };
}

/** The second line says what is kept, and how to go on. */
const interruptedWith = (kept: string) => ({
  code: 130,
  lines: ['holdfast: interrupted before it was done.', `  ${kept}`],
  isCursorShown: true,
});

/** An archive of 22 blobs, and the settings of a bucket that takes every connection and never answers. */
async function withSilentBucket() {
  const node = await startNode({ seedRecordedBlobs: true });
  const setup = { dataDir: temporaryFolder(), node };
  const { endpoint, asked } = await silentServer();
  const bucket = {
    HOLDFAST_S3_ENDPOINT: endpoint,
    HOLDFAST_S3_BUCKET: 'silent',
    HOLDFAST_S3_ACCESS_KEY_ID: 'key',
    HOLDFAST_S3_SECRET_ACCESS_KEY: 'secret',
    HOLDFAST_LOCAL_MODE: 'keep',
  };
  return { setup, env: { ...environmentOf(setup), ...bucket }, bucket, asked };
}

describeWithCommand('python3', 'Ctrl-C on a terminal', () => {
  test.each([
    { name: 'npm start', program: LAUNCHER },
    { name: 'run --dev', program: undefined },
  ])('ends $name with 130, one line, and the cursor shown', async ({ program }) => {
    const env = { HOLDFAST_HTTP_PORT: '0', HOLDFAST_DATA_DIR: temporaryFolder() };
    const surroundings = { env, isOnTerminal: true, ...(program === undefined ? {} : { program }) };
    const run = new HoldfastProcess(['run', '--dev'], surroundings);
    await run.says(/\d{2,} stored.* 0 waiting/);
    const { code, lines, isCursorShown } = await interrupted(run);
    expect({ code, isCursorShown }).toEqual({ code: 130, isCursorShown: true });
    // The emulated chain goes on: a blob, or a line of progress, may have come between the last look and the key.
    const others = lines.filter((line) => !/^(archived {2}|height \d+ · )/.test(line));
    expect(others).toEqual([expect.stringMatching(/^stopping · height \d+ · \d+ stored/)]);
  });

  test('ends run in the middle of its work, with a node that is slow, without a word of an error', async () => {
    const node = await startNode({ seedRecordedBlobs: true });
    node.faults.add({ fault: { kind: 'latency', ms: 300 }, methods: ['getnevmblobdata'] });
    const env = environmentOf({ dataDir: temporaryFolder(), node });
    const run = new HoldfastProcess(['run'], { env, isOnTerminal: true });
    await run.says(/INFO.*listening/);
    const { code, lines } = await interrupted(run);
    expect(code).toBe(130);
    expect(lines.at(-1)).toMatch(/^\[[\d:]+\] INFO: stopped$/);
    expect(lines.filter((line) => /(ERROR|FATAL)/.test(line))).toEqual([]);
  });

  test('typed again after a second leaves at once, with the cursor shown', async () => {
    const node = await startNode();
    const { versionHash } = node.submitLabelled({ label: 'held up', sizeBytes: 2_097_152, hashType: 'keccak256' });
    node.mine();
    const setup = { dataDir: temporaryFolder(), node };
    const run = new HoldfastProcess(['run', '--dev'], { env: environmentOf(setup), isOnTerminal: true });
    const [, url = ''] = await run.says(/listens at (\S+)/);
    await run.says(/1 stored/);
    // A reader that takes nothing holds up the stop.
    await readerThatStops(url, versionHash);
    run.type(CTRL_C);
    await run.says(/stopping · /);
    const typing = setInterval(() => run.type(CTRL_C), 500);
    const { code, stdout } = await run.ended;
    clearInterval(typing);
    expect(code).toBe(130);
    expect(stdout.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(stdout.lastIndexOf(HIDE_CURSOR));
    expect(stdout).not.toMatch(/^\s+at /m);
  });

  test.each([
    ['check', 'What was found missing is noted. The same command starts again from the beginning.'],
    ['check --read-data', 'What was read is noted for seven days: the same command goes on behind it.'],
    ['rebuild', 'The blobs that were found are in the catalog: the same command goes on with the others.'],
  ])('ends %s, alone and beside a daemon, with 130, what is kept, and the cursor shown', async (words, kept) => {
    const { setup, env, bucket, asked } = await withSilentBucket();
    const filled = await startArchiveHere(setup);
    await untilStored(filled, 22);
    await stop(filled);
    const alone = new HoldfastProcess(words.split(' '), { env, isOnTerminal: true });
    await asked;
    expect(await interrupted(alone)).toEqual(interruptedWith(kept));

    const daemon = await startArchiveHere({ ...setup, env: bucket });
    const beside = new HoldfastProcess(words.split(' '), { env, isOnTerminal: true });
    await daemon.says(/"msg":"a job began"/);
    expect(await interrupted(beside)).toEqual(interruptedWith(kept));
    expect(await stop(daemon, 'SIGINT')).toMatchObject({ code: 130 });
  });

  test('ends status --watch, which outlives the daemon that it watches, with 130 and the cursor shown', async () => {
    const node = await startNode({ seedRecordedBlobs: true });
    const setup = { dataDir: temporaryFolder(), node };
    const daemon = await startArchiveHere(setup);
    await untilStored(daemon, 22);
    const watching = new HoldfastProcess(['status', '--watch'], { env: environmentOf(setup), isOnTerminal: true });
    await watching.says(/Nothing is at risk\.[\s\S]*withheld 0/);
    await stop(daemon);
    await watching.says(/No holdfast daemon answers at/);
    await startArchiveHere(setup);
    await watching.says(/No holdfast daemon answers at[\s\S]*withheld 0/);
    const { code, isCursorShown } = await interrupted(watching);
    expect({ code, isCursorShown }).toEqual({ code: 130, isCursorShown: true });
    expect(watching.stdout.toString('utf8')).toContain(HIDE_CURSOR);
  });

  test('ends backfill with 130, what is kept, and the cursor shown', async () => {
    const node = await startNode();
    const blobs = publishBlocks(node, 'interrupted', 2, 2);
    passTime(node);
    const { endpoint, asked } = await silentServer();
    const words = ['backfill', '--from-height', String(blobs[0]?.height), '--source', `peer=${endpoint}`];
    const env = environmentOf({ dataDir: temporaryFolder(), node });
    const command = new HoldfastProcess(words, { env, isOnTerminal: true });
    await asked;
    await command.says(/4 blobs are not here/);
    expect(await interrupted(command)).toEqual(
      interruptedWith('What was fetched and verified stays: the same command asks only for what is still missing.'),
    );
  });
});
