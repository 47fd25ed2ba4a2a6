import type { NamedHash, VersionHash } from '../core/blob/ids.ts';
import type { ArchiveView, BlobLookup, UnavailableReason } from '../view/archive-view.ts';
import type { ChainUnavailable, ChainView, RecordedAbsence } from '../view/chain-view.ts';
import type { Answer } from './answer.ts';
import { HttpError } from './errors.ts';
import { problemAnswer } from './problem.ts';
import type { ProblemCode } from './problem-table.ts';

const CODE_OF_REASON: Readonly<Record<UnavailableReason, ProblemCode>> = {
  'not-fetched-yet': 'blob/not-fetched-yet',
  damaged: 'blob/damaged',
  'store-fault': 'blob/store-fault',
  'cannot-tell': 'blob/cannot-tell',
};

export type MissingBlob = Exclude<BlobLookup, { readonly kind: 'found' }>;

/** Proved absence is 404, everything else is "ask again": a client that is told "absent" gives up for ever. */
export function missingAnswer(lookup: MissingBlob, versionHash: VersionHash): Answer {
  switch (lookup.kind) {
    case 'withheld':
      return withheldAnswer(versionHash, lookup.publicReason);
    case 'lost':
      return lostAnswer(versionHash, lookup.loss);
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

/** What is recorded, and of reasons only what the operator gave for publication. */
export function withheldAnswer(versionHash: VersionHash, publicReason: string | null): Answer {
  if (publicReason === null) return problemAnswer('blob/withheld', `The operator withholds ${versionHash}.`);
  return problemAnswer('blob/withheld', `The operator withholds ${versionHash}: ${publicReason}`, {
    members: { publicReason },
  });
}

export function cannotTellAnswer({ reason, message, retryAfterSeconds }: ChainUnavailable): Answer {
  return problemAnswer(`chain/${reason}`, message, { retryAfterSeconds });
}

/** 410 on the routes of our own; clients that exist know only 404. */
export function lostAnswer(versionHash: VersionHash, loss: RecordedAbsence): Answer {
  return problemAnswer('blob/lost', `The bytes of ${versionHash} were lost; recorded at ${loss.recordedAt}.`, {
    members: { recordedAt: loss.recordedAt, sources: loss.sources },
  });
}

/** Lost is told where it is known, whatever else keeps the answer from being sure. */
export function notThere(chain: Pick<ChainView, 'lost'>, name: NamedHash, lookup: MissingBlob): Answer {
  const loss = lookup.kind === 'withheld' ? null : chain.lost(name);
  return loss === null ? missingAnswer(lookup, name.versionHash) : lostAnswer(name.versionHash, loss);
}

/** For the live clients' routes: what is lost is 404 there. */
export function notThereForClients(chain: Pick<ChainView, 'lost'>, name: NamedHash, lookup: MissingBlob): Answer {
  const answer = notThere(chain, name, lookup);
  if (answer.status !== 410) return answer;
  return problemAnswer('blob/absent', `The bytes of ${name.versionHash} were lost; nobody has them.`);
}

/** Reads, and refuses what bears another name than was asked for: verified bytes of the wrong blob are wrong bytes. */
export async function readBlob(
  view: Pick<ArchiveView, 'read'>,
  name: NamedHash,
  signal: AbortSignal,
): Promise<BlobLookup> {
  const lookup = await view.read(name, signal);
  if (lookup.kind !== 'found') return lookup;
  const { versionHash, hashType } = lookup.blob;
  if (versionHash === name.versionHash && (name.hashType === null || name.hashType === hashType)) return lookup;
  throw new HttpError('http/wrong-content', `The archive gave ${hashType} ${versionHash} for another name.`, {
    details: { asked: name, given: { hashType, versionHash } },
    retryable: false,
    hint: 'This is an error in holdfast; report it.',
  });
}
