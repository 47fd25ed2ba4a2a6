/**
 * The assembled archive in a process of its own, so that its memory is its own. Words: `fill` or `check`. Configured by
 * the environment. Prints one JSON line when it is done.
 */
import { loadConfig } from '../../src/config/index.ts';
import { openUpkeep } from '../../src/daemon.ts';
import { createLogger } from '../../src/observability/logger.ts';

const [work = ''] = process.argv.slice(2);
const { values: settings } = loadConfig({ env: process.env, flags: {}, file: undefined, cwd: process.cwd() });
const log = createLogger('error', process.stderr);
const { upkeep, close } = await openUpkeep({ settings, version: 'bench', emulated: false, log });
const { signal } = new AbortController();
// The hashing thread keeps no process alive.
const alive = setInterval(() => {}, 60_000);
await upkeep.admit(signal);
const begun = performance.now();
let left = 0;
if (work === 'fill') await upkeep.fill(signal);
else {
  const report = await upkeep.check({ subset: null, backend: null, repair: false }, () => {}, signal);
  left = report.leftCount;
}
const seconds = (performance.now() - begun) / 1_000;
const { maxRSS } = process.resourceUsage();
process.stdout.write(`${JSON.stringify({ seconds, left, peakMemoryBytes: maxRSS * 1_024 })}\n`);
await close();
clearInterval(alive);
process.disconnect?.();
