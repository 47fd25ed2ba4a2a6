/**
 * The assembled daemon in a process that ends as by `kill -9` at one point of a blob's way. Words: the point, and at which
 * call of it. Configured by the environment, like the command.
 */

import { startDaemon } from '../../../src/app/daemon.ts';
import { Catalog } from '../../../src/catalog/catalog.ts';
import { loadConfig } from '../../../src/config/index.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';

const [point = '', atCall = '1'] = process.argv.slice(2);
let calls = 0;

/** The kernel ends the process before the next statement. */
function die(here: string): void {
  if (here !== point) return;
  calls += 1;
  if (calls === Number(atCall)) process.kill(process.pid, 'SIGKILL');
}

const { keep } = LocalStore.prototype;
LocalStore.prototype.keep = async function (...args) {
  die('before the local put');
  const kept = await keep.apply(this, args);
  die('after the local put');
  return kept;
};
const { put, get } = S3Store.prototype;
S3Store.prototype.put = async function (...args) {
  const [object] = args;
  const isBlob = 'hashType' in object;
  if (isBlob) die('before the put');
  await put.apply(this, args);
  if (isBlob) die('after the put');
};
S3Store.prototype.get = async function (...args) {
  const [key] = args;
  const isBlob = typeof key === 'object' && 'hashType' in key;
  if (isBlob) die('before the read-back');
  const found = await get.apply(this, args);
  if (isBlob) die('after the read-back');
  return found;
};
const { recordSpooled, recordProven } = Catalog.prototype;
Catalog.prototype.recordSpooled = function (...args) {
  die('before the commit of spooled');
  const heldAlready = recordSpooled.apply(this, args);
  die('after the commit of spooled');
  return heldAlready;
};
Catalog.prototype.recordProven = function (...args) {
  die('before the commit of stored');
  const stored = recordProven.apply(this, args);
  die('after the commit of stored');
  return stored;
};

const { values } = loadConfig({ env: process.env, flags: {}, file: undefined, cwd: process.cwd() });
await startDaemon({ settings: values, version: 'test', emulated: false, log: createLogger('warn', process.stderr) });
