import { readFileSync } from 'node:fs';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ArchiveClient } from '../e2e/archive-client.ts';
import { eventually } from '../e2e/eventually.ts';
import { describeWithEngine } from '../servers/docker-engine.ts';
import { BuiltImage } from './built-image.ts';

/** The image as an operator runs it: no root, nothing to write but the volume, no capability. */

const BUILD_MS = 900_000;
const RUN_MS = 180_000;
/** Compiled program, production dependencies, their bill of materials. */
const MAX_ADDED_MIB = 50;
const VOLUME = 'holdfast-under-test';
/** Blobs that `devnode --recorded-blobs` begins with. */
const RECORDED = 22;
const REVISION = '0123456789abcdef0123456789abcdef01234567';
const CREATED = '2026-01-02T03:04:05+00:00';

const lockfile = z
  .object({ packages: z.record(z.string(), z.object({ version: z.string(), dev: z.boolean().default(false) })) })
  .parse(JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')));

const BILL_OF_MATERIALS = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(
    z.looseObject({
      name: z.string(),
      version: z.string(),
      licenses: z.array(z.unknown()).min(1),
      hashes: z.array(z.unknown()).min(1),
    }),
  ),
});

class ReadOnlyContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    this.withDroppedCapabilities('ALL').withSecurityOpt('no-new-privileges').withStartupTimeout(RUN_MS);
  }
}

describeWithEngine('the image', () => {
  let image: BuiltImage;

  beforeAll(async () => {
    image = await BuiltImage.build({ REVISION, CREATED });
  }, BUILD_MS);
  afterAll(async () => {
    await image?.docker('volume', 'rm', '--force', VOLUME);
    await image?.remove();
  }, RUN_MS);

  test('is little more than its base: what it adds is small', async () => {
    const { stdout } = await image.docker('history', '--human=false', '--format', '{{.Size}}', image.name);
    const [, ...added] = stdout.trim().split('\n').map(Number).reverse();
    const addedMib = added.reduce((sum, bytes) => sum + bytes, 0) / 1_048_576;
    process.stdout.write(`the image adds ${addedMib.toFixed(1)} MiB to its base\n`);
    expect(addedMib).toBeGreaterThan(5);
    expect(addedMib).toBeLessThan(MAX_ADDED_MIB);
  });

  async function startNode(): Promise<string> {
    const words = ['devnode', '--host', '0.0.0.0', '--recorded-blobs', '--blocks-every', '1s', '--no-workload'];
    const node = await new ReadOnlyContainer(image.name)
      .withCommand(words)
      .withWaitStrategy(Wait.forLogMessage(/emulated node/))
      .start();
    onTestFinished(async () => void (await node.stop()));
    return `http://devnode:devnode@${node.getIpAddress('bridge')}:18370`;
  }

  async function startArchiver(node: string): Promise<StartedTestContainer> {
    const container = await new ReadOnlyContainer(image.name)
      .withEnvironment({ HOLDFAST_NODE_URL: node, HOLDFAST_NODE_SWEEP_MS: '500' })
      .withExposedPorts(8080)
      .withBindMounts([{ source: VOLUME, target: '/data' }])
      .withHealthCheck({ test: image.healthTest, interval: 1_000, retries: 180 })
      .withWaitStrategy(Wait.forHealthCheck())
      .start();
    onTestFinished(async () => void (await container.stop({ remove: true })));
    return container;
  }

  const clientOf = (container: StartedTestContainer) =>
    new ArchiveClient(`http://${container.getHost()}:${container.getMappedPort(8080)}`);

  async function exitCodeOf(container: StartedTestContainer): Promise<string> {
    const { stdout } = await image.docker('inspect', '--format', '{{.State.ExitCode}}', container.getId());
    return stdout.trim();
  }

  test('says what it was built from', () => {
    expect(image.labels).toMatchObject({
      'org.opencontainers.image.revision': REVISION,
      'org.opencontainers.image.created': CREATED,
    });
  });

  test('without a node address it refuses to start, with what to set', async () => {
    const { code, stderr } = await image.run([]);
    expect(code).toBe(2);
    expect(stderr).toContain('HOLDFAST_NODE_URL=');
  });

  test('other commands are words after the image', async () => {
    const { code, stderr } = await image.run([], ['serve']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('No backend is configured')]);
  });

  test('an unknown variable and an unreadable secret are refused as everywhere', async () => {
    const unknown = await image.run(['--env', 'HOLDFAST_NODE_URI=http://a']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('did you mean HOLDFAST_NODE_URL?')]);
    const secret = await image.run(['--env', 'HOLDFAST_NODE_PASSWORD_FILE=/run/secrets/absent']);
    expect([secret.code, secret.stderr]).toEqual([2, expect.stringContaining('HOLDFAST_NODE_PASSWORD_FILE cannot be')]);
  });

  test('a volume that it may not write is said', async () => {
    const { code, stderr } = await image.run([
      '--tmpfs',
      '/data:uid=0,mode=0755',
      '--env',
      'HOLDFAST_NODE_URL=http://a:1',
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain('/data may not be accessed by this user');
  });

  test('memory comes from the allocator that the image carries, and no process complains of it', async () => {
    const loaded = 'process.stdout.write(process.report.getReport().sharedObjects.join())';
    const words = ['run', '--rm', '--entrypoint', 'node', image.name, '--eval', loaded];
    const { code, stdout, stderr } = await image.docker(...words);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('LD_PRELOAD')]);
    expect(stdout.split(',')).toContain('/usr/local/lib/libjemalloc.so.2');
  });

  test('nothing to install with, and nothing of the development, is in it', async () => {
    const { stdout } = await image.docker(
      'run',
      '--rm',
      '--entrypoint',
      'ls',
      image.name,
      '/usr/local/bin',
      'node_modules',
    );
    const names = stdout.split('\n');
    expect(names).toEqual(expect.arrayContaining(['holdfast', 'node', 'fastify', 'better-sqlite3']));
    for (const absent of ['npm', 'npx', 'vitest', 'typescript', 'testcontainers', 'esbuild']) {
      expect(names).not.toContain(absent);
    }
  });

  test('the image carries the list of what it is made of, with licences and checksums', async () => {
    const { stdout } = await image.docker('run', '--rm', '--entrypoint', 'cat', image.name, 'sbom.cdx.json');
    const { components } = BILL_OF_MATERIALS.parse(JSON.parse(stdout));
    // Neither a number nor a time: two builds of one commit carry the same list.
    expect(stdout).not.toMatch(/"serialNumber"|"timestamp"/);
    const listed = components.map(({ name, version }) => `${name}@${version}`);
    const shipped = Object.entries(lockfile.packages).flatMap(([path, { version, dev }]) =>
      path === '' || dev ? [] : [`${path.split('node_modules/').at(-1)}@${version}`],
    );
    const [allocator = '', ...others] = listed.toReversed();
    expect(others.toSorted()).toEqual([...new Set(shipped)].toSorted());
    expect(allocator).toMatch(/^libjemalloc2@5\.3\.0-/);
    const library = '/usr/local/lib/libjemalloc.so.2';
    const sum = await image.docker('run', '--rm', '--entrypoint', 'sha512sum', image.name, library);
    expect(components.at(-1)?.hashes).toEqual([{ alg: 'SHA-512', content: sum.stdout.split(' ')[0] }]);
  });

  test(
    'archives as an unprivileged user on a read-only system, becomes healthy, and keeps all of it over a stop and a kill',
    async () => {
      const node = await startNode();
      const first = await startArchiver(node);
      const client = clientOf(first);
      await eventually(async () => expect((await client.status()).content.stored).toBe(RECORDED), RUN_MS);
      const { blobs } = await client.page('limit=100');
      expect(blobs).toHaveLength(RECORDED);

      expect((await first.exec(['id', '-u'])).output.trim()).toBe('10001');
      expect((await first.exec(['touch', '/app/new'])).output).toContain('Read-only file system');
      expect((await first.exec(['holdfast', 'status'])).output).toContain(`stored   ${RECORDED} blobs`);

      await first.stop({ remove: false, timeout: RUN_MS });
      expect(await exitCodeOf(first)).toBe('143');

      const second = await startArchiver(node);
      for (const { versionHash, sizeBytes } of blobs) {
        const { status, body } = await clientOf(second).blob(versionHash);
        expect([status, body.length]).toEqual([200, sizeBytes]);
      }
      await image.docker('kill', '--signal', 'KILL', second.getId());
      const third = clientOf(await startArchiver(node));
      await eventually(async () => expect((await third.status()).content.stored).toBe(RECORDED), RUN_MS);
    },
    RUN_MS * 2,
  );
});
