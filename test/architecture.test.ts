import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { handedOver } from './handed-over.ts';
import { moduleState } from './module-state.ts';
import { SOURCE_FILES, type SourceFile } from './source-files.ts';

/** The rooms that each room may import besides itself. A new room is entered here first. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  verify: ['core'],
  hashing: ['core', 'verify'],
  node: ['core', 'verify'],
  storage: ['core', 'verify'],
  catalog: ['core', 'verify'],
  view: ['core', 'verify', 'node'],
  ingest: ['core', 'verify', 'node', 'storage', 'catalog', 'view'],
  chain: ['core', 'verify', 'node', 'storage', 'catalog', 'view', 'ingest'],
  replication: ['core', 'verify', 'node', 'storage', 'catalog', 'view', 'chain'],
  reading: ['core', 'verify', 'node', 'storage', 'catalog', 'view', 'ingest', 'chain', 'replication'],
  backfill: ['core', 'verify', 'node', 'storage', 'catalog', 'view', 'ingest', 'chain', 'replication'],
  bundle: ['core', 'verify', 'storage', 'catalog', 'view', 'ingest', 'chain', 'backfill'],
  federation: ['core', 'verify', 'node', 'catalog', 'view', 'ingest', 'chain', 'backfill'],
  http: ['core', 'verify', 'view', 'reading'],
  reader: ['core', 'verify'],
  devnode: ['require-node.ts', 'core', 'verify', 'node'],
  config: ['core', 'node'],
  app: [
    'core',
    'verify',
    'hashing',
    'node',
    'storage',
    'catalog',
    'view',
    'ingest',
    'chain',
    'replication',
    'reading',
    'backfill',
    'bundle',
    'federation',
    'http',
    'config',
  ],
  cli: [
    'core',
    'verify',
    'hashing',
    'node',
    'storage',
    'catalog',
    'replication',
    'bundle',
    'config',
    'devnode',
    'app',
    'reader',
  ],
  // The page runs in the browser.
  page: ['core', 'verify'],
  'client.ts': ['require-node.ts', 'core', 'node', 'reader'],
  'require-node.ts': ['core'],
  'node-flags.mjs': [],
  'install.mjs': [],
  'launch.mjs': ['install.mjs', 'node-flags.mjs'],
};

/** The files of a room that other rooms may see. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  'http→reading': ['src/reading/withhold/take-downs.ts', 'src/reading/withhold/take-down-jobs.ts'],
  'config→node': ['src/node/method-table.ts'],
  'cli→node': [
    'src/node/index.ts',
    'src/node/method-table.ts',
    // Numbers of a command line keep their digits by it; programs have bigint and text for that.
    'src/node/asset-guid.ts',
    'src/node/decimal-field.ts',
    'src/node/lossless-json.ts',
  ],
  'cli→config': ['src/config/index.ts'],
  'app→config': ['src/config/index.ts'],
  'app→http': ['src/http/index.ts'],
  'app→hashing': ['src/hashing/index.ts'],
  'cli→hashing': ['src/hashing/index.ts'],
};

/** Libraries that are published by themselves: every other room, and the package's client, enters them by their index. */
const LIBRARIES: readonly string[] = ['reader', 'devnode'];

interface Step {
  readonly file: SourceFile;
  readonly to: string;
  readonly between: string;
}

const roomOf = (path: string): string => path.split('/')[1] ?? '';
const inRoom = (room: string) => SOURCE_FILES.filter((file) => file.path.startsWith(`src/${room}/`));
const paths = (files: readonly SourceFile[]) => files.map((file) => file.path);

/** Every import from one room into another. */
const STEPS: readonly Step[] = SOURCE_FILES.flatMap((file) =>
  file.imports
    .filter((to) => roomOf(to) !== file.room)
    .map((to) => ({ file, to, between: `${file.room}→${roomOf(to)}` })),
);

describe('rooms', () => {
  test('every room says in this test what it may import', () => {
    expect([...new Set(SOURCE_FILES.map((file) => file.room))].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });

  test.each(Object.entries(MAY_IMPORT))('%s imports nothing but what it may', (room, allowed) => {
    const wrong = STEPS.filter(({ file, to }) => file.room === room && !allowed.includes(roomOf(to)));
    expect(wrong.map(({ file, to }) => `${file.path} imports ${to}`)).toEqual([]);
  });

  test('a room with a door is entered by it', () => {
    const past = STEPS.filter(({ between, to }) => DOORS[between]?.includes(to) === false);
    expect(past.map(({ file, to }) => `${file.path} imports ${to}`)).toEqual([]);
  });

  test.each(LIBRARIES)('%s is used through its public entry, by programs outside and by our own alike', (library) => {
    const uses = STEPS.filter(({ to }) => roomOf(to) === library);
    expect(uses.length).toBeGreaterThan(0);
    const past = uses.filter(({ to }) => to !== `src/${library}/index.ts`);
    expect(past.map(({ file, to }) => `${file.path} imports ${to}`)).toEqual([]);
  });

  test('no two rooms import each other', () => {
    const between = new Set(STEPS.map((step) => step.between));
    expect([...between].filter((step) => between.has(step.split('→').reverse().join('→')))).toEqual([]);
  });

  test('no rooms import each other in a circle, however long', () => {
    const rooms = [...new Set(SOURCE_FILES.map(({ room }) => room))];
    const next = (room: string) => STEPS.filter(({ file }) => file.room === room).map(({ to }) => roomOf(to));
    expect(circles(rooms, next)).toEqual([]);
  });

  test('no files import each other in a circle', () => {
    const byPath = new Map(SOURCE_FILES.map((file) => [file.path, file]));
    expect(circles(paths(SOURCE_FILES), (path) => byPath.get(path)?.imports ?? [])).toEqual([]);
  });

  test('imports stay inside src', () => {
    expect(SOURCE_FILES.flatMap(({ imports }) => imports).filter((to) => !to.startsWith('src/'))).toEqual([]);
  });

  test('every imported file is there', () => {
    const there = new Set(paths(SOURCE_FILES));
    const missing = SOURCE_FILES.flatMap(({ path, imports }) =>
      imports.filter((to) => to.endsWith('.ts') && !there.has(to)).map((to) => `${path} imports ${to}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('the permissions of rooms', () => {
  test('only the command line, and the emulated node itself, know the emulated node', () => {
    expect([...new Set(STEPS.filter(({ to }) => roomOf(to) === 'devnode').map(({ file }) => file.room))]).toEqual([
      'cli',
    ]);
  });

  test.each(['Catalog.open(', 'new Archive(', 'createLocalServer(', 'createBlobNode(', 'new RehashRule('])(
    'daemon.ts is the only composition root: no other file says %s',
    (words) => {
      const saying = SOURCE_FILES.filter(({ code }) => code.replaceAll(`function ${words}`, '').includes(words));
      expect(paths(saying)).toEqual(['src/app/daemon.ts']);
    },
  );

  test('a port is served by the composition root of the archive, and by that of the reader without a catalog', () => {
    const serving = SOURCE_FILES.filter(({ code }) => /(?<!function )\bcreateHttpServer\(/.test(code));
    expect(paths(serving)).toEqual(['src/app/daemon.ts', 'src/app/serve.ts']);
  });

  test('only the room verify makes a VerifiedBlob, in one file', () => {
    const making = SOURCE_FILES.filter(({ code }) =>
      /new VerifiedBlob\b|\bas VerifiedBlob\b|VerifiedBlob\.mint\b/.test(code),
    );
    expect(paths(making)).toEqual(['src/verify/verified-blob.ts']);
  });

  test('only the command line reads the environment, besides the proxies that every program honours', () => {
    const reading = SOURCE_FILES.filter(({ code }) => /process\.(env|argv)\b/.test(code));
    const proxies = ['src/node/dispatcher.ts', 'src/storage/proxy-environment.ts'];
    const allowed = ['src/cli/main.ts', 'src/cli/health.ts', 'src/install.mjs', 'src/launch.mjs', ...proxies];
    expect(paths(reading).filter((path) => !allowed.includes(path))).toEqual([]);
  });

  test.each(['core/blob', 'verify', 'page', 'reader'])(
    '%s runs in a browser: no module of Node, no Buffer, no process',
    (room) => {
      const wrong = inRoom(room).filter(
        ({ code, packages }) =>
          packages.some((name) => name.startsWith('node:')) || /\b(Buffer|process|require|__dirname)\b/.test(code),
      );
      expect(paths(wrong)).toEqual([]);
    },
  );
});

/** Loops that wait for their signal by themselves, and why. */
const LOOPS: readonly string[] = [
  'src/core/time/run-loop.ts',
  // Event streams give what comes to their followers: that is not work that is repeated.
  'src/core/jobs/event-log.ts',
  // The page runs in a browser, and tells people of the pause.
  'src/page/model/live-window.ts',
];

/** Programs of their own, beside the daemon, that ask their engine for the time. */
const OWN_CLOCK: readonly string[] = [
  // The emulated node is a server of its own, and measures nothing of the archive.
  'src/devnode/',
  // Both run in a browser, without the daemon.
  'src/page/',
  'src/reader/',
  // A second signal is told from the first before anything is put together.
  'src/cli/main.ts',
];

/** The doors at which the clock of the machine comes in: composition roots, and libraries that others call. */
const TAKES_THE_CLOCK: readonly string[] = [
  'src/core/time/clock.ts',
  'src/app/',
  'src/cli/',
  // Callers of the following libraries have no clock to hand in.
  'src/node/client.ts',
  'src/node/rpc-blob-node.ts',
  'src/node/submission/submit-blob.ts',
  'src/storage/local/local-store.ts',
  'src/storage/s3/s3-options.ts',
  // A refusal is one part, and nothing of it is paced.
  'src/http/send-answer.ts',
];

/** Facts of the whole process, the same for every caller, and memory whose content no call leaves to the next one. */
const OF_THE_PROCESS: Readonly<Record<string, string>> = {
  'src/core/blob/hex.ts simd': 'whether this engine has SIMD',
  'src/core/blob/lent-memory.ts spares spareBytes lent': 'memory that was given back, and may be lent again',
  'src/storage/local/durable-file.ts durable': 'folders whose names this process has made durable',
  'src/page/element.ts shown': 'what each element of the one document shows; an entry goes with its element',
  // CPU time of two nodes of 64 bytes, minimum of nine rounds in one run: 1.1 µs with it, 3.4 µs with memory per call.
  'src/verify/double-sha256.ts words state secondView': 'memory in which one hash is made at a time',
};

describe('one loop, one backoff, one clock', () => {
  test('work that is repeated until a signal aborts is a step of the one loop', () => {
    const looping = SOURCE_FILES.filter(({ code }) => /while \(!\w*[sS]ignal\.aborted\) \{/.test(code));
    expect(paths(looping).filter((path) => !LOOPS.includes(path))).toEqual([]);
  });

  test('time is asked of the clock that was handed in, and of no other', () => {
    const asking = SOURCE_FILES.filter(({ code }) => /\b(performance|Date)\.now\b|new Date\(\)/.test(code));
    const others = paths(asking).filter((path) => !OWN_CLOCK.some((place) => path.startsWith(place)));
    expect(others).toEqual(['src/core/time/clock.ts']);
  });

  test('the clock of the machine is taken where something is put together', () => {
    const taking = SOURCE_FILES.filter(({ code }) => /\bSYSTEM_CLOCK\b/.test(code));
    const inside = paths(taking).filter((path) => !TAKES_THE_CLOCK.some((place) => path.startsWith(place)));
    expect(inside).toEqual([]);
  });

  test('nothing in a module changes: state belongs to the object that holds it', () => {
    const found = SOURCE_FILES.map(({ path, text }) => [path, ...moduleState(text)]).filter(({ length }) => length > 1);
    expect(found.map((names) => names.join(' ')).sort()).toEqual(Object.keys(OF_THE_PROCESS).sort());
  });

  test.each([
    'let count;',
    'var count = 0;',
    'const count = new WeakMap<object, number>(); export function see(one: object) { count.set(one, 1); }',
    'const count: number[] = []; const see = () => count.push(1);',
    'const count = new Uint8Array(4); class Seen { see() { count[0] = 1; } }',
    'const count = new Uint8Array(4).fill(1); class Seen { see() { count[0] += 1; } }',
    'const count = Buffer.alloc(4); function see() { count.writeUInt8(1, 0); }',
    'const count = { of: 0 }; function see() { count.of++; }',
    'const count = { of: {} }; function see(one: string) { delete count.of[one]; }',
  ])('state of a module is seen: %s', (text) => expect(moduleState(text)).toEqual(['count']));

  test.each([
    'const known = new Set([1]); export const has = (one: number) => known.has(one);',
    'const values = new Uint8Array(256); values[1] = 1; export const at = (one: number) => values[one];',
    'const makeCount = () => new Map();',
    'function counted() { const count = new Map(); count.set(1, 1); return count; }',
  ])('a table is none: %s', (text) => expect(moduleState(text)).toEqual([]));
});

/** Objects of parts that take more than six services, and how many each may take: both may only become fewer. */
const LARGER: Readonly<Record<string, number>> = {
  // The composition root of one archive: it names what it is made of.
  ArchiveModules: 12,
};
const MOST = 6;

describe('parts', () => {
  const { objects, built } = handedOver(SOURCE_FILES);

  test('at most forty objects hand a class what it works with, whatever they are called', () => {
    expect(objects.map(({ name }) => name).length).toBeLessThanOrEqual(40);
  });

  test('an object of parts has at most six, or is one of those that are known to have more', () => {
    const tooLarge = objects.filter(({ name, services }) => services > (LARGER[name] ?? MOST));
    expect(tooLarge).toEqual([]);
  });

  test('a constructor takes at most six things that can do something', () => {
    expect(built.filter(({ services }) => services > MOST)).toEqual([]);
  });
});

describe('house rules', () => {
  test('no file is named for what anything could be', () => {
    const named = /^(utils?|helpers?|common|types?|managers?|misc|shared)\b|-(utils?|helpers?|manager)\./;
    expect(paths(SOURCE_FILES.filter(({ path }) => named.test(basename(path))))).toEqual([]);
  });

  test('no library is told of a proxy through the dispatcher of the whole process', () => {
    expect(paths(SOURCE_FILES.filter(({ code }) => /\bsetGlobalDispatcher\b/.test(code)))).toEqual([]);
  });

  test('no file of storage has a variable of its own: what changes belongs to a store', () => {
    expect(paths(inRoom('storage').filter(({ code }) => /^(?:export )?let\b/m.test(code)))).toEqual([]);
  });

  test('no number stands for what is not there: that is NULL in SQL, and null here', () => {
    const sentinel = /9_?007_?199_?254_?740_?99|9_?223_?372_?036_?854_?775_?80|MAX_SAFE_INTEGER/;
    const migration = readFileSync(new URL('../migrations/0001_catalog.sql', import.meta.url), 'utf8');
    expect(paths(SOURCE_FILES.filter(({ code }) => sentinel.test(code)))).toEqual([]);
    expect(sentinel.test(migration)).toBe(false);
  });

  test('a room has at most one barrel, its entry', () => {
    const barrels = SOURCE_FILES.filter(({ path }) => basename(path) === 'index.ts' && path.split('/').length > 3);
    expect(paths(barrels)).toEqual([]);
  });

  test('a cast is the last word of the parser of a brand, and nowhere else', () => {
    const withoutImports = (code: string) => code.replace(/\b(import|export)\b[^;]*;/g, '');
    const casts = SOURCE_FILES.flatMap(({ path, code }) =>
      [...withoutImports(code).matchAll(/[^\n]*[\w)\]}>'] as (?!const\b)[^\n]*/g)]
        .map(([line]) => line.trim())
        .filter((line) => !brandParser(code, line))
        .map((line) => `${path}: ${line}`),
    );
    expect(casts).toEqual([]);
  });
});

/** `return text as Brand;` in the file that declares the brand, or in the one generic parser of several. */
function brandParser(code: string, line: string): boolean {
  const brand = /^return [\w.()]+ as (\w+);$/.exec(line)?.[1];
  if (brand === undefined) return false;
  return code.includes(`type ${brand} = string & {`) || code.includes(`<${brand} extends string>`);
}

function circles(all: readonly string[], next: (one: string) => readonly string[]): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (one: string, way: readonly string[]): void => {
    if (way.includes(one)) found.push([...way.slice(way.indexOf(one)), one].join(' → '));
    if (way.includes(one) || done.has(one)) return;
    for (const other of new Set(next(one))) walk(other, [...way, one]);
    done.add(one);
  };
  for (const one of all) walk(one, []);
  return found;
}
