import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figure } from '../figure.ts';
import { startNginx } from '../http/nginx.ts';
import { startAndReadLine, stopProcess } from '../process-line.ts';
import { BehavedClient } from './behaved-client.ts';

const MIB = 1_048_576;
const QUIET_SECONDS = 5;
const BLOBS = 8;
const BLOB_BYTES = 2 * MIB;
const HEX_BYTES = 2 * BLOB_BYTES;
/** A call for a blob, or a batch of sixteen, and no other body of the attackers, has so many bytes. */
const CALLS = `map $content_length $call { "~^(1\\d\\d|[12]\\d\\d\\d)$" /call; default /none; }`;
/** nginx takes no POST for a file. */
const CALLED = 'location = / { error_page 403 405 =200 $call; }';

/**
 * Measures what the machine leaves a client under these attacks, whatever serves it: nginx gives the same client files of the same size
 * while the same attackers ask nginx for as many bytes, as blobs, hex and calls. Attackers, client and server share the
 * processors, so the client loses some of its rate to the attackers' own work.
 */
export async function benchCeiling(attackSeconds: number): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const large = Array.from({ length: BLOBS }, (_, index) => index.toString(16).padStart(64, '0'));
  // Workers of nginx are another user.
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'v1', 'blobs'), { recursive: true });
  mkdirSync(join(folder, 'vh'));
  for (const [index, hash] of large.entries()) {
    writeFileSync(join(folder, 'v1', 'blobs', hash), Buffer.alloc(BLOB_BYTES, index));
    writeFileSync(join(folder, 'vh', hash), Buffer.alloc(HEX_BYTES, index));
  }
  writeFileSync(join(folder, 'call'), Buffer.alloc(HEX_BYTES));
  try {
    const nginx = await startNginx(folder, { http: CALLS, server: CALLED }).catch(() => null);
    if (nginx === null) {
      process.stderr.write('skipped: what nginx gives under the same attacks, for there is no nginx\n');
      return [];
    }
    try {
      return await measure(nginx.url, large, attackSeconds);
    } finally {
      await nginx.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(url: string, large: readonly string[], attackSeconds: number): Promise<Figure[]> {
  const client = new BehavedClient(url, large, []);
  try {
    const quiet = await client.readFor(QUIET_SECONDS);
    const [anyLarge = ''] = large;
    const words = [new URL(url).port, String(attackSeconds), anyLarge, anyLarge];
    const attackers = await startAndReadLine('attack/attackers.ts', words);
    const told = once(attackers.child, 'message');
    const attacked = await client.readFor(attackSeconds - 1);
    await told;
    await stopProcess(attackers);
    return [
      { name: 'nginx under the same attacks: 2 MiB reads, quiet', value: quiet / MIB, unit: 'MiB/s' },
      { name: '  2 MiB reads by its quiet rate', value: attacked / quiet, unit: '×' },
    ];
  } finally {
    await client.close();
  }
}
