import type { MetricsRegistry } from './metrics.ts';

/** Declares the metric of the running release and command. */
export function declareBuild(metrics: MetricsRegistry, build: { version: string; command: 'run' | 'serve' }): void {
  metrics.gauge({
    name: 'holdfast_build_info',
    help: 'Always 1; what runs is in the labels.',
    labels: ['version', 'node_version', 'command'],
    read: () => [
      { labels: { version: build.version, node_version: process.versions.node, command: build.command }, value: 1 },
    ],
  });
}
