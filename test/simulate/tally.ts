import { z } from 'zod';
import { Coverage } from './coverage.ts';
import { DAY_MS } from './plan.ts';
import type { Outcome } from './simulation.ts';

const counts = z.object({
  seeds: z.number(),
  failed: z.number(),
  simulatedMs: z.number(),
  events: z.number(),
  blocks: z.number(),
  blobs: z.number(),
  processorMs: z.number(),
});
const toldTally = z.object({ counts, pairs: z.array(z.number()) });

/** Counts of a run, or of a share of it. */
export class Tally {
  readonly #coverage = new Coverage();
  #counts = { seeds: 0, failed: 0, simulatedMs: 0, events: 0, blocks: 0, blobs: 0, processorMs: 0 };
  #processorMsOfOthers = 0;

  get failed(): number {
    return this.#counts.failed;
  }

  add({ simulatedMs, events, blocks, blobs, pairs }: Outcome): void {
    this.#add({ seeds: 1, failed: 0, simulatedMs, events, blocks, blobs, processorMs: 0 });
    this.#coverage.add(pairs);
  }

  addFailure(): void {
    this.#counts.failed += 1;
  }

  /** Processor time of this process since it began, all threads together, beside what others have told. */
  noteProcessorTime(): void {
    const { user, system } = process.cpuUsage();
    this.#counts.processorMs = this.#processorMsOfOthers + (user + system) / 1_000;
  }

  /** For another process. */
  get told(): z.infer<typeof toldTally> {
    return { counts: this.#counts, pairs: this.#coverage.counts };
  }

  /** Adds what another process has told. */
  merge(message: unknown): void {
    const { counts: others, pairs } = toldTally.parse(message);
    this.#add(others);
    this.#processorMsOfOthers += others.processorMs;
    this.#coverage.addCounts(pairs);
  }

  get lines(): string[] {
    const { seeds, failed, simulatedMs, events, blocks, blobs, processorMs } = this.#counts;
    const days = simulatedMs / DAY_MS;
    const seconds = processorMs / 1_000;
    const pace = `${seconds.toFixed(1)} s of processor time (${((days / seconds) * 60).toFixed(0)} days a minute)`;
    return [
      `${seeds} seeds, ${days.toFixed(1)} simulated days, ${pace}: ${failed} failed`,
      `  with ${blocks} blocks, ${blobs} blobs and ${events} turns of the simulated machine`,
      ...(seeds > 1 ? this.#coverage.lines : []),
    ];
  }

  #add(others: z.infer<typeof counts>): void {
    const mine = this.#counts;
    this.#counts = {
      seeds: mine.seeds + others.seeds,
      failed: mine.failed + others.failed,
      simulatedMs: mine.simulatedMs + others.simulatedMs,
      events: mine.events + others.events,
      blocks: mine.blocks + others.blocks,
      blobs: mine.blobs + others.blobs,
      processorMs: mine.processorMs + others.processorMs,
    };
  }
}
