import type { SettingValues } from '../config/index.ts';
import { MetricsRegistry } from '../core/observability/metrics.ts';
import { declareBackendMetrics } from '../storage/metrics.ts';
import { faultOf, type ProbeFinding } from '../storage/probe.ts';
import { LiveSettings } from './live-settings.ts';
import { openBackends } from './open-backends.ts';

export interface ProbedBackend {
  readonly id: string;
  readonly findings: readonly ProbeFinding[];
}

/** Writes something small to every configured backend and reads it back, as a daemon does at its start. @throws ConfigError */
export async function probeBackends(settings: SettingValues, signal: AbortSignal): Promise<ProbedBackend[]> {
  const live = await LiveSettings.read(settings);
  const backends = await openBackends(live, settings, declareBackendMetrics(new MetricsRegistry()));
  try {
    return await Promise.all(
      backends.map(async ({ id, store }) => {
        const findings = await store.probe(signal).catch((error: unknown) => {
          signal.throwIfAborted();
          return [faultOf('reachable', error)];
        });
        return { id, findings };
      }),
    );
  } finally {
    await Promise.all(backends.map(({ store }) => store.close()));
  }
}
