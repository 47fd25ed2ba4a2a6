import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { atEndOfTest } from '../../cleanup.ts';
import { freePort } from '../../servers/child-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { eventually } from '../eventually.ts';

const CONFIG = fileURLToPath(new URL('../../../config/prometheus', import.meta.url));
const alerts = z.object({
  data: z.object({
    alerts: z.array(z.object({ labels: z.record(z.string(), z.string()), state: z.enum(['pending', 'firing']) })),
  }),
});
const targets = z.object({ data: z.object({ activeTargets: z.array(z.object({ health: z.string() })) }) });

export interface Prometheus {
  /** `HoldfastBackendDown ipfs`, of what fires now. */
  firing(): Promise<string[]>;
  /** Waits until the archiver was scraped. */
  untilScraped(): Promise<void>;
}

/** The configuration and the rules as they are shipped, with another target, and in seconds what is minutes there. */
export async function startPrometheus(target: string): Promise<Prometheus> {
  const folder = temporaryFolder();
  const config = readFileSync(join(CONFIG, 'prometheus.yaml'), 'utf8');
  // The interval also bounds how long a scrape may take. One that takes longer ends the series, and each pending alert.
  const often = config.replace('scrape_interval: 15s', 'scrape_interval: 5s');
  const soon = often.replace('evaluation_interval: 15s', 'evaluation_interval: 1s');
  writeFileSync(join(folder, 'prometheus.yaml'), soon.replace('127.0.0.1:8080', target));
  const rules = readFileSync(join(CONFIG, 'alerts.yaml'), 'utf8');
  writeFileSync(join(folder, 'alerts.yaml'), rules.replaceAll(/^( +for: \d+)[mh]$/gm, '$1s'));
  const port = await freePort();
  const child: ChildProcess = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  atEndOfTest(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const ask = async (path: string): Promise<unknown> => await (await fetch(`http://127.0.0.1:${port}${path}`)).json();
  return {
    async firing() {
      const found = alerts.parse(await ask('/api/v1/alerts')).data.alerts;
      return found
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => `${labels['alertname'] ?? ''} ${labels['backend'] ?? ''}`.trim());
    },
    untilScraped: () =>
      eventually(async () => {
        const [one] = targets.parse(await ask('/api/v1/targets')).data.activeTargets;
        if (one?.health !== 'up') throw new Error(`not scraped yet: ${JSON.stringify(one)}`);
      }),
  };
}
