import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cli } from '../../cli/cli-in-process.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchive, startNode, stop, untilStored } from '../archive-process.ts';
import { publish } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { HoldfastProcess } from '../holdfast-process.ts';

const line = z.looseObject({ level: z.string(), time: z.string(), msg: z.string() });

function linesOf(output: string) {
  return output
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => line.parse(JSON.parse(text)));
}

test('one blob is followed through the log by its hash, from the list to the backend that gave it back', async () => {
  const node = await startNode();
  const daemon = await startArchive({
    dataDir: temporaryFolder(),
    node,
    env: { HOLDFAST_LOG_LEVEL: 'debug' },
  });
  const [{ versionHash } = { versionHash: '' }] = publish(node, 'followed', 3);
  await untilStored(daemon, 3);
  const { stdout } = await stop(daemon);
  const its = linesOf(stdout).filter((one) => one['versionHash'] === versionHash);
  expect(its.map(({ msg }) => msg)).toEqual([
    'listed by the node',
    'spooled: verified and durable here',
    'a backend gave it back whole',
  ]);
  expect(its.at(-1)).toMatchObject({ backend: 'local', room: 'archive', level: 'debug' });
});

test('SIGHUP of a supervisor takes over the level, names what waits for a restart, and a wrong file changes nothing', async () => {
  const node = await startNode();
  const file = join(temporaryFolder(), 'holdfast.yaml');
  writeFileSync(file, 'log: { level: warn }\n');
  const setup = { dataDir: temporaryFolder(), node, env: { HOLDFAST_CONFIG: file } };
  // Listening is not logged at this level: the announcement in the folder tells the address.
  const daemon = new HoldfastProcess(['run'], { env: environmentOf(setup) });
  await eventually(async () => {
    const { code } = await cli(['status', '--data-dir', setup.dataDir], {});
    expect(code).toBe(0);
  });
  expect(daemon.output).toBe('');
  writeFileSync(file, 'log: { level: debug }\nnode: { requests: 5 }\n');
  daemon.kill('SIGHUP');
  await daemon.says(/"waiting":\["node.requests"\],"msg":"these changes wait for a restart"/);
  node.mine(1);
  await daemon.says(/new tip/);
  writeFileSync(file, 'log: { level: loud }\n');
  daemon.kill('SIGHUP');
  await daemon.says(/the configuration is wrong, and stays as it was/);
  const before = daemon.output.length;
  node.mine(1);
  await eventually(() => expect(daemon.output.slice(before)).toContain('new tip'));
  expect(await stop(daemon)).toMatchObject({ code: 143 });
});

test('nothing that it was given in confidence is repeated: not in a log, not in an answer, not by a command', async () => {
  const node = await startNode();
  const folder = temporaryFolder();
  const secrets = {
    s3: 'S3-secret-never-to-be-seen',
    token: 'read-token-never-to-be-seen',
    admin: 'admin-token-never-to-be-seen',
    heartbeat: 'heartbeat-never-to-be-seen',
    offsite: 'offsite-secret-never-to-be-seen',
  };
  const hashed = (token: string) => `sha256:${createHash('sha256').update(token).digest('hex')} somebody\n`;
  writeFileSync(join(folder, 'read'), hashed(secrets.token));
  writeFileSync(join(folder, 'admin'), hashed(secrets.admin));
  const config = join(folder, 'holdfast.yaml');
  writeFileSync(
    config,
    JSON.stringify({
      backends: [
        {
          kind: 's3',
          id: 's3:offsite',
          endpoint: 'http://127.0.0.1:9',
          bucket: 'b',
          accessKeyId: 'k',
          secretAccessKey: secrets.offsite,
        },
      ],
    }),
  );
  const env = {
    HOLDFAST_CONFIG: config,
    HOLDFAST_LOG_LEVEL: 'trace',
    HOLDFAST_LOCAL_MODE: 'keep',
    HOLDFAST_S3_ENDPOINT: 'http://127.0.0.1:9',
    HOLDFAST_S3_BUCKET: 'blobs',
    HOLDFAST_S3_ACCESS_KEY_ID: 'holdfast',
    HOLDFAST_S3_SECRET_ACCESS_KEY: secrets.s3,
    HOLDFAST_HTTP_READ_TOKENS_FILE: join(folder, 'read'),
    HOLDFAST_HTTP_ADMIN_TOKENS_FILE: join(folder, 'admin'),
    HOLDFAST_HEARTBEAT_URL: `http://127.0.0.1:9/ping/${secrets.heartbeat}?key=${secrets.heartbeat}`,
    HOLDFAST_HEARTBEAT_SECONDS: '1',
  };
  const setup = { dataDir: temporaryFolder(), node, env };
  const daemon = await startArchive(setup);
  publish(node, 'in confidence', 3);
  const said: string[] = [];
  const ask = async (path: string) => {
    const headers = { authorization: `Bearer ${secrets.token}` };
    said.push(await (await fetch(`${daemon.client.url}${path}`, { headers })).text());
    return said.at(-1) ?? '';
  };
  await eventually(async () => expect(await ask('/v1/status')).toContain('heartbeat/not-taken'));
  await eventually(async () => expect(await ask('/v1/status')).toContain('storage/unreachable'));
  for (const path of ['/metrics', '/readyz', '/healthz', '/openapi.json', '/v1/blobs', '/nowhere', '/'])
    await ask(path);
  expect((await fetch(`${daemon.client.url}/metrics`)).status).toBe(401);
  for (const words of [['config'], ['config', '--json'], ['status'], ['status', '--json']]) {
    const ended = await cli(words, environmentOf(setup));
    said.push(ended.stdout, ended.stderr);
  }
  const ended = await stop(daemon);
  const everything = [ended.stdout, ended.stderr, ...said].join('\n');
  expect(ended.stdout).toContain('The heartbeat does not arrive');
  for (const secret of Object.values(secrets)) {
    for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, 24)]) {
      expect(everything.includes(form), form).toBe(false);
    }
  }
});
