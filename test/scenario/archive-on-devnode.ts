import { onTestFinished } from 'vitest';
import type { Archive } from '../../src/app/archive.ts';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/app/daemon.ts';
import { loadConfig } from '../../src/config/index.ts';
import { type HashType, type NamedHash, parseNamedHash } from '../../src/core/blob/ids.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { createDevnode, type Devnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { HURRY, hurry } from '../hurried-time.ts';
import { realMs, realTimeout } from '../real-time.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { freePort } from '../servers/child-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A real tenth of a second between two looks at the tip, and half a second between two readings of the list. */
const OFTEN = {
  real: { HOLDFAST_NODE_POLL_MS: '100', HOLDFAST_NODE_SWEEP_MS: '500' },
  hurried: { HOLDFAST_NODE_POLL_MS: String(100 * HURRY), HOLDFAST_NODE_SWEEP_MS: String(500 * HURRY) },
};
/** Seconds between two blocks of the real chain. */
export const BLOCK_SECONDS = 150;
export const HOUR_BLOCKS = 3_600 / BLOCK_SECONDS;
const NEVER = new AbortController().signal;
const PATIENCE_MS = 240_000;

export interface SceneSetup {
  readonly node?: DevnodeOptions;
  readonly env?: Readonly<Record<string, string>>;
  readonly nodes?: readonly Devnode[];
  /** The node of another scene, instead of one of its own. */
  readonly on?: Devnode;
  /** `real` for a test with other processes or browsers, whose clocks do not hurry. Default: `hurried`. */
  readonly time?: 'hurried' | 'real';
}

export interface SceneBlob {
  readonly versionHash: string;
  readonly txid: string;
  readonly hashType: HashType;
  readonly bytes: Uint8Array;
}

/** An emulated node whose clock a test moves, and the assembled daemon on it; either can be away. */
export class Scene {
  readonly node: Devnode;
  readonly dataDir = temporaryFolder();
  readonly log: string[] = [];
  /** Everything that was submitted. */
  readonly blobs: SceneBlob[] = [];
  readonly #env: Readonly<Record<string, string>>;
  #daemon: Daemon | null = null;
  #labels = 0;

  private constructor(node: Devnode, env: Readonly<Record<string, string>>) {
    this.node = node;
    this.#env = env;
  }

  static async create({ node = {}, env = {}, nodes = [], on, time = 'hurried' }: SceneSetup = {}): Promise<Scene> {
    if (time === 'hurried') hurry();
    const devnode =
      on ??
      (await createDevnode({
        clock: { nowSeconds: () => 1_790_000_000 },
        workload: null,
        port: await freePort(),
        ...node,
      }));
    if (on === undefined) onTestFinished(() => devnode.close());
    const urls = [devnode, ...nodes].map(addressOf).join(' ');
    const scene = new Scene(devnode, { HOLDFAST_NODE_URL: urls, ...OFTEN[time], ...env });
    onTestFinished(() => scene.stop());
    return scene;
  }

  get archive(): Archive {
    if (this.#daemon === null) throw new Error('The daemon does not run.');
    return this.#daemon.archive;
  }

  get url(): string {
    return this.#daemon?.url ?? '';
  }

  async start(
    env: Readonly<Record<string, string>> = {},
    given: Pick<DaemonOptions, 'scheduleTime'> = {},
  ): Promise<this> {
    const { values: settings } = loadConfig({
      env: {
        HOLDFAST_DATA_DIR: this.dataDir,
        HOLDFAST_HTTP_PORT: '0',
        ...this.#env,
        ...env,
      },
      flags: {},
      file: undefined,
      cwd: this.dataDir,
    });
    const log = createLogger('debug', { write: (line) => void this.log.push(line) });
    this.#daemon = await startDaemon({ settings, version: 'test', emulated: false, log, ...given });
    return this;
  }

  async stop(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    await daemon?.stop();
  }

  /** A blob of this scene, and none other: bytes follow from its number. */
  submit(sizeBytes = 64): SceneBlob {
    this.#labels += 1;
    const bytes = sampleBytes(`scene ${this.#labels}`, sizeBytes);
    const hashType: HashType = this.#labels % 3 === 0 ? 'blake2s256' : 'keccak256';
    const submitted = { ...this.node.submitBlob(bytes, { hashType }), bytes, hashType };
    this.blobs.push(submitted);
    return submitted;
  }

  /** Blocks two and a half minutes apart, each with so many new blobs. */
  mine(blocks: number, blobs = 0): { versionHash: string; height: number }[] {
    const mined: { versionHash: string; height: number }[] = [];
    for (let block = 0; block < blocks; block += 1) {
      const submitted = Array.from({ length: blobs }, () => this.submit());
      this.node.advanceSeconds(BLOCK_SECONDS);
      const [made] = this.node.mine();
      for (const { versionHash } of submitted) mined.push({ versionHash, height: made?.height ?? -1 });
    }
    return mined;
  }

  /** Waits for something that the daemon's own events bring about. */
  async until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
    const { activity } = this.archive;
    const events = ['tip', 'listed', 'spooled', 'stored', 'walked', 'final', 'lost', 'reorganised', 'failed'] as const;
    let wake = () => {};
    const notify = () => wake();
    for (const event of events) activity.on(event, notify);
    // The wall clock is not used: that of a virtual machine steps.
    const end = realMs() + PATIENCE_MS;
    try {
      while (!(await check())) {
        if (realMs() > end) throw new Error(`It did not come to this: ${what}. ${this.#told()}`);
        // Some things have no event of their own (a file that is deleted): looked at again now and then.
        await new Promise<void>((resolve) => {
          const timer = realTimeout(resolve, 50);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    } finally {
      for (const event of events) activity.off(event, notify);
    }
  }

  /** The walk is at the node's tip, and everything that it can have is stored. */
  async caughtUp(): Promise<void> {
    await this.until('caught up', () => {
      const { chain, content } = this.archive.status();
      const { tip } = this.node.chain;
      return chain.height === tip.height && content.seen === 0 && content.spooled === 0 && this.#isTip(tip.hash);
    });
  }

  async finalUpTo(height: number): Promise<void> {
    await this.until(`final up to ${height}`, () => (this.archive.status().chain.finalHeight ?? -1) >= height);
  }

  /** The audit of everything that was walked. */
  audit(to: number | null = null) {
    return this.archive.auditChain({ from: null, to }, NEVER);
  }

  async record(versionHash: string) {
    const lookup = await this.archive.record(nameOf(versionHash), NEVER);
    return lookup.kind === 'found' ? lookup.record : null;
  }

  /** The state of each occurrence on its record: `final`, `mined`, `unconfirmed`. */
  async states(versionHash: string): Promise<string[]> {
    return (await this.record(versionHash))?.occurrences.map(({ state }) => state) ?? [];
  }

  conditions(): string[] {
    return this.archive.status().conditions.map(({ code }) => code);
  }

  #isTip(hash: string): boolean {
    return this.archive.status().node.tip === hash;
  }

  #told(): string {
    const { chain, content, conditions, node } = this.archive.status();
    return JSON.stringify({ chain, content, node, conditions });
  }
}

export function nameOf(versionHash: string): NamedHash {
  return parseNamedHash(versionHash);
}

export function addressOf(node: Devnode): string {
  return node.url.replace('//', `//${node.username}:${node.password}@`);
}
