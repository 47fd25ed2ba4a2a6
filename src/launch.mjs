// Runs on any Node that npm brings along. It installs what is missing. Then it goes on with the Node that this
// repository pins (devDependency `node`), or with the system's where the pinned one cannot run.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, isInstalled } from './install.mjs';
import { MALLOC_ENVIRONMENT, NODE_FLAGS } from './node-flags.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES = join(ROOT, 'node_modules');
const PINNED = join(MODULES, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const OLDEST_MAJOR = 24;
/** Types are stripped and modules compiled once: a command then starts in less than half of the time. */
const COMPILED = join(MODULES, '.cache', 'holdfast-compiled');

/** The commands that read the sources without running them. */
const CHECKS = [
  ['node_modules/@biomejs/biome/bin/biome', 'ci', '.'],
  ['.prose/main.ts'],
  // A second time it looks only at what has changed, and at what that touches.
  [
    'node_modules/typescript/bin/tsc',
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    join(MODULES, '.cache', 'types'),
  ],
  ['node_modules/typescript/bin/tsc', '--noEmit', '--project', 'config/tsconfig.page.json'],
];
const TESTS = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
/** Leaves out the tests that start servers, browsers, containers or whole processes. */
const QUICK = '--quick';
/** The steps of each script, one after another. The commands of a step run side by side, each with the chosen Node. */
const SCRIPTS = {
  check: [CHECKS, [[...TESTS, 'test/architecture.test.ts', 'test/promised.test.ts']]],
  test: [[TESTS]],
  bench: [[['test/bench/main.ts']]],
  // Most of what a simulated turn allocates is gone after it: a large young generation saves a sixth of the processor time. V8's
  // helper threads take some per cent more, and `--jobs` uses the other cores better.
  simulate: [[['--min-semi-space-size=64', '--max-semi-space-size=64', '--single-threaded', 'test/simulate/main.ts']]],
  reference: [[['config/build-reference.ts']]],
  build: [
    [['node_modules/typescript/bin/tsc', '--project', 'config/tsconfig.build.json']],
    [['config/build-page.ts']],
    [['config/build-packages.ts']],
  ],
};
/** Commands beside the steps of a script. The first one that fails stops the step that is under way. */
const BESIDE = { test: CHECKS };

function fail(sentence) {
  process.stderr.write(`holdfast: ${sentence}\n`);
  process.exit(1);
}

async function installed(set) {
  if (isInstalled(ROOT, set)) return;
  process.stderr.write(
    set === 'start'
      ? 'holdfast: installing what it takes to start (once; the tools come with npm test) …\n'
      : 'holdfast: installing everything, the tools included (once) …\n',
  );
  await install(ROOT, set).catch((error) => {
    fail(`${error.message}: see the lines above, repair what they name, and start again.`);
  });
}

function canRun(executable) {
  return spawnSync(executable, ['--version'], { stdio: 'ignore' }).status === 0;
}

function chooseNode() {
  if (existsSync(PINNED) && canRun(PINNED)) return PINNED;
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_MAJOR) return process.execPath;
  return fail(
    `the pinned Node cannot run on this machine (a minimal Debian lacks libatomic: apt-get install libatomic1), and the system's Node ${process.versions.node} is older than ${OLDEST_MAJOR}; install either.`,
  );
}

/** Runs it to its end, passing on what asks us to stop; gives its exit code. With `onSaid`, its output goes there and is not printed. */
function run(node, words, settings = {}, { stopped, onSaid } = {}) {
  const path = `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`;
  // The fourth channel carries nothing: it closes when this process is killed, and the child stops cleanly then.
  const output = onSaid === undefined ? 'inherit' : 'pipe';
  const stdio = ['inherit', output, output, 'ipc'];
  const child = spawn(node, words, {
    stdio,
    env: { NODE_COMPILE_CACHE: COMPILED, ...MALLOC_ENVIRONMENT, ...process.env, ...settings, PATH: path },
  });
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onSaid);
  const forward = (signal) => child.kill(signal);
  stopped?.addEventListener('abort', () => forward('SIGTERM'));
  const parent = process.ppid;
  // npm cannot pass on its own kill -9; a process that lost npm has another parent.
  setInterval(() => process.ppid === parent || forward('SIGTERM'), 1_000).unref();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    // The last output may come after the exit.
    child.on(onSaid === undefined ? 'exit' : 'close', (code, signal) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Runs a command without showing what it says; gives that and its exit code. */
async function runQuietly(node, words, settings) {
  let said = '';
  const onSaid = (text) => {
    said += text;
  };
  return { code: await run(node, words, settings, { onSaid }), said };
}

/** Runs the steps, each after the one before it has passed; gives the first exit code that is not 0. */
async function runSteps(steps, runOne) {
  for (const [index, step] of steps.entries()) {
    const codes = await Promise.all(step.map((command) => runOne(command, index === steps.length - 1)));
    const failed = codes.find((code) => code !== 0);
    if (failed !== undefined) return failed;
  }
  return 0;
}

const [first, second, ...rest] = process.argv.slice(2);
await installed(first === '--script' ? 'tools' : 'start');
const node = chooseNode();
if (first === '--script') {
  process.chdir(ROOT);
  const steps = SCRIPTS[second] ?? fail(`there is no script ${second}.`);
  const words = rest.filter((word) => word !== QUICK);
  const settings = words.length < rest.length ? { HOLDFAST_TEST_QUICK: '1' } : {};
  const failed = new AbortController();
  const beside = (BESIDE[second] ?? []).map(async (command) => {
    const ended = await runQuietly(node, command, settings);
    if (ended.code === 0) process.stderr.write(ended.said);
    else failed.abort();
    return ended;
  });
  const code = await runSteps(steps, (command, isLast) =>
    run(node, [...command, ...(isLast ? words : [])], settings, { stopped: failed.signal }),
  );
  const failures = (await Promise.all(beside)).filter((ended) => ended.code !== 0);
  // Below all that the tests have said: what they were stopped for is read first.
  for (const { said } of failures) process.stderr.write(said);
  process.exitCode = failures[0]?.code ?? code;
} else {
  process.exitCode = await run(node, [...NODE_FLAGS, join(ROOT, 'src', 'cli', 'main.ts'), ...process.argv.slice(2)]);
}
