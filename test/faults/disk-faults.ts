import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Devnode } from '../../src/devnode/index.ts';
import type { AtEnd } from '../cleanup.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../e2e/archive-process.ts';
import { expectAll, type Published, publish } from '../e2e/backends/real-backends.ts';
import { eventually } from '../e2e/eventually.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { FileFaults, type FileRule } from './file-faults.ts';

/** Each fault of a disk at each part of the data folder. */
export const ALL_DISK_FAULTS: readonly FileRule[] = [
  ...['blobs/small.sqlite', 'catalog.sqlite', '/blobs/', '/data/'].flatMap((path) => [
    { call: 'write', fault: 'EIO', path } as const,
    { call: 'write', fault: 'ENOSPC', path } as const,
    { call: 'write', fault: 'short', path } as const,
    { call: 'sync', fault: 'EIO', path } as const,
    { call: 'sync', fault: 'slow', path } as const,
    { call: 'read', fault: 'EIO', path } as const,
    { call: 'open', fault: 'EIO', path } as const,
  ]),
  { call: 'write', fault: 'EROFS', path: '/data/' },
  { call: 'open', fault: 'EROFS', path: '/data/' },
  { call: 'rename', fault: 'EIO', path: '/data/' },
];

/** Once each. A file that cannot be read is tried again after half a minute: `replication/local-faults` does that on its clock. */
export const DISK_FAULTS = ALL_DISK_FAULTS.filter(({ call, path }) => path === '/data/' && call !== 'read');

export interface DiskFaultOutcome {
  readonly rule: FileRule;
  /** The first condition that it raised, or its end; null: everything was archived in spite of the fault. */
  readonly told: string | null;
  /** Answers while the fault was there, to questions for blobs that were stored before. */
  readonly given: number;
  readonly refused: number;
  readonly wholeAfterMs: number;
}

const BLOBS = 4;

/** One daemon on one data folder, through one fault after the other. */
export class FaultyDisk {
  readonly dataDir: string;
  readonly node: Devnode;
  readonly #faults: FileFaults;
  readonly #atEnd: AtEnd;
  readonly #published: Published[];
  #daemon: ArchiveProcess;

  private constructor(dataDir: string, node: Devnode, faults: FileFaults, atEnd: AtEnd, daemon: ArchiveProcess) {
    this.dataDir = dataDir;
    this.node = node;
    this.#faults = faults;
    this.#atEnd = atEnd;
    this.#daemon = daemon;
    this.#published = [];
  }

  static async start(atEnd: AtEnd): Promise<FaultyDisk> {
    const root = temporaryFolder();
    const dataDir = join(root, 'data');
    const faults = new FileFaults(root);
    const node = await startNode({}, atEnd);
    const disk = new FaultyDisk(
      dataDir,
      node,
      faults,
      atEnd,
      await startArchive({ dataDir, node, env: faults.env, atEnd }),
    );
    disk.#publish('before any fault');
    await untilStored(disk.#daemon, BLOBS);
    return disk;
  }

  /** @throws Error when it claims what is not so, gives other bytes, or is not whole afterwards. */
  async through(rule: FileRule): Promise<DiskFaultOutcome> {
    const before = [...this.#published];
    await this.#untilNothingIsTold();
    this.#faults.set(rule);
    this.#publish(`${rule.call} ${rule.fault} ${rule.path}`);
    const told = await this.#told(before.length + BLOBS);
    let given = 0;
    for (const blob of before) given += (await this.#isGiven(blob)) ? 1 : 0;
    this.#faults.set();
    const liftedMs = performance.now();
    if (told?.startsWith('ended') === true) this.#daemon = await this.#start();
    await untilStored(this.#daemon, this.#published.length);
    const wholeAfterMs = performance.now() - liftedMs;
    await expectAll(this.#daemon, this.#published);
    return { rule, told, given, refused: before.length - given, wholeAfterMs };
  }

  /**
   * Ends as in a crash, starts again, and stops once the records are written: at a start none rests. The first blobs may have
   * none, for the chain is followed from the block that was its tip at the first look.
   */
  async stop(): Promise<void> {
    this.#daemon.kill('SIGKILL');
    await this.#daemon.ended;
    this.#daemon = await this.#start();
    await eventually(() => {
      const records = globSync('occurrences/**/*.json', { cwd: this.dataDir }).length;
      const expected = this.#published.length - BLOBS;
      if (records < expected) throw new Error(`${records} of ${expected} records are written`);
    });
    this.#daemon.kill('SIGTERM');
    await this.#daemon.ended;
  }

  /**
   * What the last fault has raised would be taken for what the next one raises, and end it at once. Some of it stands until
   * what rests is tried again; after a start nothing rests.
   */
  async #untilNothingIsTold(): Promise<void> {
    if ((await this.#daemon.client.status()).conditions.length > 0) {
      this.#daemon.kill('SIGKILL');
      await this.#daemon.ended;
      this.#daemon = await this.#start();
    }
    await eventually(async () => {
      const { conditions } = await this.#daemon.client.status();
      if (conditions.length > 0) throw new Error(`still told: ${conditions.map(({ code }) => code).join(', ')}`);
    });
  }

  /** Waits until the fault is told, or has not hindered anything. */
  async #told(expected: number): Promise<string | null> {
    let ended: string | null = null;
    void this.#daemon.ended.then(({ code, signal }) => {
      ended = `ended with ${code ?? signal}`;
    });
    return await eventually(async () => {
      if (ended !== null) return ended;
      const { content, conditions } = await this.#daemon.client.status();
      const [first] = conditions;
      if (first !== undefined) return first.code;
      if (content.stored === expected) return null;
      throw new Error(`neither stored nor told: ${JSON.stringify(content)}`);
    });
  }

  /** false: it said that it cannot give the blob now. An absence, or other bytes, is never the answer. */
  async #isGiven({ label, sizeBytes, versionHash }: Published): Promise<boolean> {
    const answer = await this.#daemon.client.blob(versionHash).catch(() => null);
    if (answer === null || answer.status >= 500) return false;
    if (answer.status === 200 && answer.body.equals(sampleBytes(label, sizeBytes))) return true;
    throw new Error(`${versionHash}, which was stored, came back with ${answer.status}, ${answer.body.length} bytes`);
  }

  async #start(): Promise<ArchiveProcess> {
    return await startArchive({ dataDir: this.dataDir, node: this.node, env: this.#faults.env, atEnd: this.#atEnd });
  }

  #publish(label: string): void {
    this.#published.push(...publish(this.node, label, BLOBS));
  }
}
