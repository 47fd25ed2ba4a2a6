import type { VersionHash } from '../core/blob/ids.ts';
import type { NotGiven, UnavailableReason } from '../view/archive-view.ts';
import type { ChainUnavailable } from '../view/chain-view.ts';
import type { Answer } from './answer.ts';
import { problemAnswer } from './problem.ts';
import type { ProblemCode } from './problem-table.ts';

const CODE_OF_REASON: Readonly<Record<UnavailableReason, ProblemCode>> = {
  'not-fetched-yet': 'blob/not-fetched-yet',
  damaged: 'blob/damaged',
  'store-fault': 'blob/store-fault',
  'cannot-tell': 'blob/cannot-tell',
};

/** Proved absence is 404, everything else is "ask again": a client that is told "absent" gives up for ever. */
export function missingAnswer(lookup: NotGiven, versionHash: VersionHash): Answer {
  switch (lookup.kind) {
    case 'withheld':
      return withheldAnswer(versionHash, lookup.publicReason);
    case 'lost':
      return problemAnswer(
        'blob/lost',
        `The bytes of ${versionHash} were lost; recorded at ${lookup.loss.recordedAt}.`,
        {
          members: { recordedAt: lookup.loss.recordedAt, sources: lookup.loss.sources },
        },
      );
    case 'not-archived-by-rule':
      return problemAnswer(
        'blob/not-archived-by-rule',
        `This archive leaves ${versionHash} out by a rule of its operator. ${lookup.rule}`,
        { members: { rule: lookup.rule, since: lookup.since } },
      );
    case 'absent':
      return problemAnswer('blob/absent', `There is no blob with version hash ${versionHash}.`);
    case 'unavailable':
      return problemAnswer(CODE_OF_REASON[lookup.reason], lookup.message, {
        retryAfterSeconds: lookup.retryAfterSeconds,
      });
    default:
      return lookup satisfies never;
  }
}

/** The record, and of reasons only the one that the operator gave for publication. */
function withheldAnswer(versionHash: VersionHash, publicReason: string | null): Answer {
  if (publicReason === null) return problemAnswer('blob/withheld', `The operator withholds ${versionHash}.`);
  return problemAnswer('blob/withheld', `The operator withholds ${versionHash}: ${publicReason}`, {
    members: { publicReason },
  });
}

export function cannotTellAnswer({ reason, message, retryAfterSeconds }: ChainUnavailable): Answer {
  return problemAnswer(`chain/${reason}`, message, { retryAfterSeconds });
}

/** For the live clients' routes: what is lost is 404 there. */
export function missingForClients(lookup: NotGiven, versionHash: VersionHash): Answer {
  if (lookup.kind !== 'lost') return missingAnswer(lookup, versionHash);
  return problemAnswer(
    'blob/absent',
    `The bytes of ${versionHash} were lost: every place that could have them denied it.`,
  );
}
