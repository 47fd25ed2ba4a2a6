/**
 * The assembled daemon under all attacks of a bounded load generator at once: `npm run bench -- attack`. Client, attackers, daemon
 * and node have a network of their own where the system lets them have one: see `own-network.ts`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Figure } from '../figure.ts';
import { withinOwnNetwork } from './own-network.ts';
import { TcpMemory } from './tcp-memory.ts';

const MEASUREMENT = fileURLToPath(new URL('measured-attack.ts', import.meta.url));

const figures = z.array(
  z.object({
    name: z.string(),
    value: z.number(),
    unit: z.string(),
    least: z.number().exactOptional(),
    most: z.number().exactOptional(),
  }),
);

export async function benchAttack(): Promise<Figure[]> {
  if (process.platform !== 'linux') {
    process.stderr.write('skipped: attacks come from several loopback addresses, which Linux alone has\n');
    return [];
  }
  const command = [process.execPath, MEASUREMENT];
  const within = withinOwnNetwork(command);
  if (within === null) {
    process.stderr.write(
      'no network of its own for this user: over the packets of 64 KiB of loopback every unread answer is in memory of the kernel\n',
    );
  }
  const [program = '', ...words] = within ?? command;
  const memory = new TcpMemory();
  try {
    const measured = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed, [code]] = await Promise.all([text(measured.stdout), once(measured, 'exit')]);
    if (code !== 0) throw new Error(`The measurement ended with ${code}.`);
    return [...figures.parse(JSON.parse(printed)), memory.figure()];
  } finally {
    memory.stop();
  }
}
