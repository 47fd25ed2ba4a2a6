import { SYSTEM_CLOCK } from '../../core/time/clock.ts';
import type { CliContext } from '../cli-context.ts';
import { describeBytes, describeSeconds } from '../describe.ts';
import { liveLines } from '../live-lines.ts';
import type { BackfillEvent } from './backfill-events.ts';

export interface Progress {
  tell(event: BackfillEvent): void;
  stop(): void;
}

const BAR_CHARS = 24;
/** The rate is of this much of the past. */
const RATE_MS = 10_000;

/** On a terminal a live bar below the lines; elsewhere plain lines; for programs nothing, they get the events. */
export function startProgress(context: CliContext, json: boolean): Progress {
  if (json) return { tell: () => {}, stop: () => {} };
  const lines = liveLines(context);
  const rate = new Rate();
  return {
    tell(event) {
      const line = lineOf(event);
      const state = stateOf(event, rate);
      if (line !== null) lines.line(line);
      if (state !== null) lines.state(state);
    },
    stop: () => lines.stop(),
  };
}

/** The line that stays for an event; null for none. */
function lineOf(event: BackfillEvent): string | null {
  switch (event.event) {
    case 'planned': {
      const risk = event.atRisk > 0 ? `, ${event.atRisk} of them the node may prune` : '';
      return `heights ${event.from} to ${event.to}: ${event.wanted} blobs are not here${risk}`;
    }
    case 'would-fetch':
      return `would fetch ${event.hashType} ${event.versionHash} from ${event.source}${event.sizeBytes === null ? '' : ` (${describeBytes(event.sizeBytes)})`}`;
    case 'wrong-bytes':
      return `LIES     ${event.source} gives other bytes than ${event.hashType} ${event.versionHash}`;
    case 'fault':
      return `fault    ${event.source}: ${event.message}`;
    case 'missing':
    case 'unasked':
      return `${event.event === 'missing' ? 'MISSING ' : 'unasked '} ${event.hashType} ${event.versionHash} at height ${event.height}: ${event.answers.map(({ source, answered }) => `${source} ${answered}`).join(', ')}`;
    case 'walking':
    case 'progress':
    case 'placing':
      return null;
    default:
      return event satisfies never;
  }
}

/** The live line for an event; null for none. */
function stateOf(event: BackfillEvent, rate: Rate): string | null {
  switch (event.event) {
    case 'walking':
      return `walking the chain: at height ${event.height}${event.height === event.target ? '' : `, on the way to ${event.target}`}`;
    case 'placing':
      return `placing: ${event.notStored} blobs and ${event.recordsWaiting} records are on their way to the backends`;
    case 'progress': {
      const { done, wanted, fetched, fetchedBytes, missing, unasked, atRisk } = event;
      const { bytesPerSecond, donePerSecond } = rate.at(fetchedBytes, done);
      const parts = [
        `${bar(done, wanted)} ${done} of ${wanted}`,
        `${fetched} fetched, ${describeBytes(fetchedBytes)} (${describeBytes(Math.round(bytesPerSecond))}/s)`,
      ];
      if (donePerSecond > 0) parts.push(`${describeSeconds((wanted - done) / donePerSecond)} left`);
      if (atRisk > 0) parts.push(`${atRisk} AT RISK`);
      if (missing > 0) parts.push(`${missing} missing`);
      if (unasked > 0) parts.push(`${unasked} unasked`);
      return parts.join(' · ');
    }
    default:
      return null;
  }
}

function bar(done: number, wanted: number): string {
  const share = wanted === 0 ? 1 : done / wanted;
  const full = Math.floor(share * BAR_CHARS);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CHARS - full)}] ${Math.floor(share * 100)} %`;
}

/** Over the last seconds, so that it tells how it goes now. */
class Rate {
  readonly #seen: { readonly ms: number; readonly bytes: number; readonly done: number }[] = [];

  at(bytes: number, done: number): { readonly bytesPerSecond: number; readonly donePerSecond: number } {
    const ms = SYSTEM_CLOCK.steadyMs();
    this.#seen.push({ ms, bytes, done });
    while (this.#seen.length > 2 && ms - (this.#seen[0]?.ms ?? ms) > RATE_MS) this.#seen.shift();
    const oldest = this.#seen[0] ?? { ms, bytes, done };
    const seconds = (ms - oldest.ms) / 1_000;
    if (seconds <= 0) return { bytesPerSecond: 0, donePerSecond: 0 };
    return { bytesPerSecond: (bytes - oldest.bytes) / seconds, donePerSecond: (done - oldest.done) / seconds };
  }
}
