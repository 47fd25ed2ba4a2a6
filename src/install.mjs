// Installs what a clone needs of npm, and no more: `npm start` takes what runs, `npm test` adds the tools.
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Development packages that `npm start` needs beside the dependencies: the pinned Node, and what bundles the page. */
const FOR_START = ['node', 'esbuild'];
/** npm writes its own copy of the lockfile last: an install that was cut off has none. */
const INSTALLED = join('node_modules', '.package-lock.json');
const WORDS = ['--no-audit', '--no-fund', '--loglevel=error'];

/** The packages that a lockfile lists, by their paths; null where there is no such file, or half of one. */
function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return null;
  }
}

/** Reports whether npm's own copy of the lockfile lists every package that `isNeeded`, as the lockfile pins it. */
function hasAll(root, isNeeded) {
  const installed = packagesIn(join(root, INSTALLED));
  const locked = Object.entries(packagesIn(join(root, 'package-lock.json')) ?? {});
  return (
    installed !== null &&
    locked.every(([path, { version, integrity, optional, devOptional, ...one }]) => {
      // The machine decides which optional packages are there.
      if (!path.startsWith('node_modules/') || optional || devOptional || !isNeeded(one)) return true;
      return installed[path]?.version === version && installed[path]?.integrity === integrity;
    })
  );
}

const hasDependencies = (root) => hasAll(root, ({ dev }) => !dev);

function hasThoseForStart(root) {
  const locked = packagesIn(join(root, 'package-lock.json')) ?? {};
  return FOR_START.every((name) => {
    const wanted = locked[`node_modules/${name}`]?.version;
    const manifest = join(root, 'node_modules', name, 'package.json');
    return (
      wanted === undefined || (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === wanted)
    );
  });
}

/** `set`: `start`, or `tools` for everything. */
export function isInstalled(root, set) {
  return set === 'tools' ? hasAll(root, () => true) : hasDependencies(root) && hasThoseForStart(root);
}

/** Installs what is missing of the set. @throws Error that says what failed */
export async function install(root, set) {
  if (set === 'start') await installForStart(root);
  // Beside what was installed to start, nothing is removed: an archive may run on those files just now.
  else await npm(root, isInstalled(root, 'start') ? ['install', '--no-save'] : ['ci']);
  if (!isInstalled(root, set)) throw new Error('npm did not install what package-lock.json lists');
}

async function installForStart(root) {
  const stage = join(root, '.installing');
  try {
    makeStage(stage, root);
    // Both at a time: one unpacks many small packages while the other waits for one large.
    const both = await Promise.allSettled([
      hasDependencies(root) ? null : npm(root, ['ci', '--omit=dev']),
      npm(stage, ['ci']),
    ]);
    for (const one of both) if (one.status === 'rejected') throw one.reason;
    moveModules(stage, root);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** A project of its own, of those few packages alone, pinned as in the lockfile. */
function makeStage(stage, root) {
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage);
  const locked = packagesIn(join(root, 'package-lock.json')) ?? {};
  const packages = {};
  const wanted = [...FOR_START];
  for (const name of wanted) {
    const path = `node_modules/${name}`;
    if (path in packages || !(path in locked)) continue;
    const { dev: _dev, ...entry } = locked[path];
    packages[path] = entry;
    wanted.push(...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }));
  }
  const dependencies = Object.fromEntries(FOR_START.map((name) => [name, locked[`node_modules/${name}`]?.version]));
  const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifest = { name: 'holdfast-start', version: '0.0.0', private: true, dependencies, allowScripts };
  const lockfile = { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true };
  writeFileSync(join(stage, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(stage, 'package-lock.json'),
    JSON.stringify({ ...lockfile, packages: { '': manifest, ...packages } }),
  );
  if (existsSync(join(root, '.npmrc'))) copyFileSync(join(root, '.npmrc'), join(stage, '.npmrc'));
}

function moveModules(stage, root) {
  const from = join(stage, 'node_modules');
  const names = (existsSync(from) ? readdirSync(from) : []).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(from, name)).map((inner) => join(name, inner)) : [name],
  );
  for (const name of names.filter((one) => !one.startsWith('.'))) {
    const to = join(root, 'node_modules', name);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(join(to, '..'), { recursive: true });
    renameSync(join(from, name), to);
  }
}

function npm(cwd, words) {
  const script = process.env.npm_execpath;
  const options = { cwd, stdio: ['ignore', 2, 2] };
  const child = script?.endsWith('.js')
    ? spawn(process.execPath, [script, ...words, ...WORDS], options)
    : spawn('npm', [...words, ...WORDS], { ...options, shell: process.platform === 'win32' });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`npm ${words.join(' ')} failed`))));
  });
}
