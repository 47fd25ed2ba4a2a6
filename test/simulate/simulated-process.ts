import crypto from 'node:crypto';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { Pool } from 'undici';
import { Notifier } from '../../src/core/notifier.ts';
import type { SeededRandom } from './random.ts';
import type { SimulatedDisk } from './simulated-disk.ts';
import type { ScheduledEvent, SimulatedTime } from './simulated-time.ts';

/** The parts that replace the machine for the process. */
export interface World {
  readonly time: SimulatedTime;
  readonly random: SeededRandom;
  readonly disk: SimulatedDisk;
  /** No loop that waits for a change looks more often than this. */
  readonly patienceMs: () => number;
  /** Every request that leaves over HTTP. */
  readonly dispatch: Pool['dispatch'];
}

const real = { fs: { ...fs }, Date };

class SimulatedTimer {
  readonly #begin: () => ScheduledEvent;
  #event: ScheduledEvent;

  constructor(begin: () => ScheduledEvent) {
    this.#begin = begin;
    this.#event = begin();
  }

  refresh(): this {
    this.#event.cancel();
    this.#event = this.#begin();
    return this;
  }

  cancel(): void {
    this.#event.cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

type Work = (...given: unknown[]) => void;

/**
 * Takes clock, timers, chance, files and sockets from this process, and gives it those of a simulated world: what the
 * archiver's own code, and every library under it, reads or waits for is the world's. Nothing is given back: such a process
 * does nothing else.
 */
export function replaceMachine(now: () => World): void {
  replaceClock(now);
  replaceTimers(now);
  replaceChance(now);
  replaceSignatures();
  replaceFiles(now);
  replacePatience(now);
  Object.assign(Pool.prototype, {
    dispatch: (...given: Parameters<Pool['dispatch']>) => now().dispatch(...given),
  });
  syncBuiltinESMExports();
}

function replaceClock(now: () => World): void {
  class SimulatedDate extends real.Date {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(now().time.wallMs);
      else super(...(given as [number]));
    }

    static override now(): number {
      return Math.floor(now().time.wallMs);
    }
  }
  Object.assign(globalThis, { Date: SimulatedDate });
  Object.assign(performance, { now: () => now().time.steadyMs });
}

function replaceTimers(now: () => World): void {
  const setTimeout = (work: Work, ms = 1, ...given: unknown[]) =>
    new SimulatedTimer(() => now().time.after(Math.max(Number(ms), 1), now().time.running, () => work(...given)));
  const setInterval = (work: Work, ms = 1, ...given: unknown[]) => {
    const timer: SimulatedTimer = setTimeout(() => {
      timer.refresh();
      work(...given);
    }, ms);
    return timer;
  };
  const setImmediate = (work: Work, ...given: unknown[]) =>
    new SimulatedTimer(() => now().time.soon(now().time.running, () => work(...given)));
  const clear = (timer: unknown) => {
    if (timer instanceof SimulatedTimer) timer.cancel();
  };
  const replaced = {
    ...{ setTimeout, setInterval, setImmediate },
    ...{ clearTimeout: clear, clearInterval: clear, clearImmediate: clear },
  };
  Object.assign(globalThis, replaced);
  Object.assign(timers, replaced);
  Object.assign(timersPromises, {
    setTimeout: (ms?: number, value?: unknown, options?: timers.TimerOptions) =>
      promised((done) => setTimeout(done, ms), value, options),
    setImmediate: (value?: unknown, options?: timers.TimerOptions) =>
      promised((done) => setImmediate(done), value, options),
  });
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')), ms);
    return controller.signal;
  };
}

/**
 * The archiver's loops look by themselves every half minute, besides being woken: that is most of what it does on an
 * ordinary day. A machine may wake a sleeper late. Here it does, so that a simulated day is short.
 */
function replacePatience(now: () => World): void {
  const { wait } = Notifier.prototype;
  Notifier.prototype.wait = function (timeoutMs, signal) {
    return wait.call(this, Math.max(timeoutMs, now().patienceMs()), signal);
  };
}

function promised(begin: (done: () => void) => SimulatedTimer, value: unknown, options: timers.TimerOptions = {}) {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    const refuse = () => reject(Object.assign(new Error('The operation was aborted'), { code: 'ABORT_ERR' }));
    if (signal?.aborted === true) return refuse();
    const stop = () => {
      timer.cancel();
      refuse();
    };
    const timer = begin(() => {
      signal?.removeEventListener('abort', stop);
      resolve(value);
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function replaceChance(now: () => World): void {
  Math.random = () => now().random.next();
  Object.assign(crypto, {
    randomBytes: (length: number) => now().random.bytes(length),
    randomUUID: () => now().random.bytes(16).toString('hex'),
    randomInt: (below: number) => now().random.between(0, below - 1),
  });
}

/** Web Crypto checks a signature in another thread, and the simulated time would not wait for it. Here the check is over at once. */
function replaceSignatures(): void {
  const ed25519 = (raw: Uint8Array) => ({ kty: 'OKP', crv: 'Ed25519', x: Buffer.from(raw).toString('base64url') });
  Object.assign(globalThis.crypto.subtle, {
    importKey: async (_format: 'raw', raw: Uint8Array) => crypto.createPublicKey({ key: ed25519(raw), format: 'jwk' }),
    verify: async (_algorithm: unknown, key: crypto.KeyObject, signature: Uint8Array, bytes: Uint8Array) =>
      crypto.verify(null, bytes, key, signature),
  });
}

/** An open file of the simulated disk, with as much of Node's own handle as the archiver uses. */
class SimulatedHandle {
  readonly fd: number;
  readonly #path: string;
  readonly #disk: SimulatedDisk;

  constructor(fd: number, path: string, disk: SimulatedDisk) {
    this.fd = fd;
    this.#path = path;
    this.#disk = disk;
  }

  writeFile(bytes: Uint8Array | string): Promise<void> {
    return this.#disk.call('write', this.#path, () => {
      real.fs.writeFileSync(this.fd, bytes);
      this.#disk.noteWrite(this.fd);
    });
  }

  writev(chunks: readonly Uint8Array[], position: number): Promise<unknown> {
    return this.#disk.call('write', this.#path, () => {
      const bytesWritten = real.fs.writevSync(this.fd, chunks, position);
      this.#disk.noteWrite(this.fd);
      return { bytesWritten };
    });
  }

  truncate(length: number): Promise<void> {
    return this.#disk.call('write', this.#path, () => {
      real.fs.ftruncateSync(this.fd, length);
      this.#disk.noteWrite(this.fd);
    });
  }

  sync(): Promise<void> {
    return this.#disk.call('sync', this.#path, () => this.#disk.noteSync(this.fd, this.#path));
  }

  stat(options?: fs.StatSyncOptions): Promise<unknown> {
    return this.#disk.call('stat', this.#path, () =>
      this.#disk.withTimes(real.fs.fstatSync(this.fd, options as { bigint: true })),
    );
  }

  read(buffer: Buffer, offset = 0, length = buffer.length, position: number | null = null): Promise<unknown> {
    return this.#disk.call('read', this.#path, () => ({
      bytesRead: real.fs.readSync(this.fd, buffer, offset, length, position),
      buffer,
    }));
  }

  /** The descriptor is given back at once, for a killed process would keep it in this one. */
  close(): Promise<void> {
    real.fs.closeSync(this.fd);
    return this.#disk.call('close', this.#path, () => undefined);
  }
}

function replaceFiles(now: () => World): void {
  const on = <T>(operation: string, path: fs.PathLike, work: (disk: SimulatedDisk) => T): Promise<T> => {
    const { disk } = now();
    return disk.call(operation, String(path), () => work(disk));
  };
  const makes = (flags: string | number, path: string) =>
    typeof flags === 'string' ? /[wa]/.test(flags) : (flags & fs.constants.O_CREAT) > 0 && !real.fs.existsSync(path);
  Object.assign(fsPromises, {
    open: (path: string, flags: string | number = 'r', mode?: number) =>
      on(makes(flags, path) ? 'create' : 'open', path, (disk) => {
        const isNew = makes(flags, path);
        const fd = real.fs.openSync(path, flags, mode);
        if (isNew) {
          disk.noteCreated(path);
          disk.noteWrite(fd);
        }
        return new SimulatedHandle(fd, path, disk);
      }),
    mkdir: (path: string, options?: fs.MakeDirectoryOptions) =>
      on('create', path, (disk) => {
        const first = real.fs.mkdirSync(path, options);
        if (first !== undefined) disk.noteFolder(first);
        return first;
      }),
    rename: (from: string, to: string) => on('rename', to, (disk) => disk.rename(from, to)),
    rm: (path: string, options: fs.RmOptions = {}) => on('remove', path, (disk) => disk.remove(path, options)),
    readdir: (path: string, options?: { readonly withFileTypes?: boolean }) =>
      on('readdir', path, () => (options?.withFileTypes === true ? entriesOf(path) : real.fs.readdirSync(path).sort())),
    opendir: (path: string) => on('readdir', path, () => listed(path)),
    stat: (path: string, options?: object) =>
      on('stat', path, (disk) => disk.withTimes(real.fs.statSync(path, options) as fs.Stats)),
    lstat: (path: string, options?: object) => on('stat', path, () => real.fs.lstatSync(path, options)),
    statfs: (path: string) =>
      on('stat', path, (disk) => ({ bavail: disk.isFull ? 0 : 2 ** 24, blocks: 2 ** 25, bsize: 4_096 })),
    readFile: (path: string, options?: BufferEncoding) =>
      on('readFile', path, () =>
        options === undefined ? real.fs.readFileSync(path) : real.fs.readFileSync(path, options),
      ),
    copyFile: (from: string, to: string, mode?: number) => on('create', to, () => real.fs.copyFileSync(from, to, mode)),
    link: (from: string, to: string) => on('create', to, () => real.fs.linkSync(from, to)),
  });
  const paths = new Map<number, string>();
  const called = (answer: Promise<unknown>, tell: (error: unknown, value?: unknown) => void) => {
    answer.then((value) => tell(null, value), tell);
  };
  Object.assign(fs, {
    open: (path: string, flags: number, tell: () => void) =>
      called(
        on('open', path, () => {
          const fd = real.fs.openSync(path, flags);
          paths.set(fd, path);
          return fd;
        }),
        tell,
      ),
    read: (fd: number, into: Uint8Array, offset: number, length: number, position: number, tell: () => void) =>
      called(
        on('read', paths.get(fd) ?? '', () => real.fs.readSync(fd, into, offset, length, position)),
        tell,
      ),
    close: (fd: number, tell: () => void) => {
      real.fs.closeSync(fd);
      called(
        on('close', '', () => undefined),
        tell,
      );
    },
    fstatSync: (fd: number, options?: object) =>
      now().disk.withTimes(real.fs.fstatSync(fd, options as { bigint: true })),
  });
}

function entriesOf(path: string): fs.Dirent[] {
  return real.fs.readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function* listed(path: string): AsyncIterable<fs.Dirent> {
  yield* entriesOf(path);
}
