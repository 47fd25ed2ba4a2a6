import type { Poller } from '../ingest/poller.ts';
import { isoTime } from '../reading/content-record.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import type { CountedCalls } from './counted-node.ts';

/** State of the node, as the poller last saw it. */
export function nodeStatus(
  name: string,
  { tip, lastAnswerMs }: Poller['state'],
  calls: CountedCalls,
  isAway: boolean,
): ArchiveStatus['node'] {
  return {
    name,
    reachable: lastAnswerMs !== null && !isAway,
    height: tip?.height ?? null,
    tip: tip?.hash ?? null,
    medianTimeSeconds: tip?.medianTimeSeconds ?? null,
    lastAnswerAt: isoTime(lastAnswerMs),
    calls: { ...calls },
  };
}
