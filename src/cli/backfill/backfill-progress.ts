import type { CliContext } from '../cli-context.ts';
import { describeBytes } from '../describe.ts';
import { liveLines } from '../live-lines.ts';
import { bar, Rate, remaining } from '../progress.ts';
import type { BackfillEvent } from './backfill-events.ts';

export interface Progress {
  tell(event: BackfillEvent): void;
  stop(): void;
}

/** On a terminal a live bar below the lines; elsewhere plain lines; for programs nothing, they get the events. */
export function startProgress(context: CliContext, json: boolean): Progress {
  if (json) return { tell: () => {}, stop: () => {} };
  const lines = liveLines(context);
  const rates = { bytes: new Rate(), done: new Rate() };
  return {
    tell(event) {
      const line = lineOf(event);
      const state = stateOf(event, rates);
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
function stateOf(event: BackfillEvent, rates: { readonly bytes: Rate; readonly done: Rate }): string | null {
  switch (event.event) {
    case 'walking':
      return `walking the chain: at height ${event.height}${event.height === event.target ? '' : `, on the way to ${event.target}`}`;
    case 'placing':
      return `placing: ${event.notStored} blobs and ${event.recordsWaiting} records are on their way to the backends`;
    case 'progress': {
      const { done, wanted, fetched, fetchedBytes, missing, unasked, atRisk } = event;
      const bytesPerSecond = describeBytes(Math.round(rates.bytes.at(fetchedBytes)));
      const parts = [
        `${bar(done, wanted)} ${done} of ${wanted}`,
        `${fetched} fetched, ${describeBytes(fetchedBytes)} (${bytesPerSecond}/s)${remaining(wanted - done, rates.done.at(done))}`,
      ];
      if (atRisk > 0) parts.push(`${atRisk} AT RISK`);
      if (missing > 0) parts.push(`${missing} missing`);
      if (unasked > 0) parts.push(`${unasked} unasked`);
      return parts.join(' · ');
    }
    default:
      return null;
  }
}
