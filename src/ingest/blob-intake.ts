import type { QueuedBlob } from '../catalog/seen-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { FetchOutcome } from '../node/blob-node.ts';
import { forgetBytes, type UnverifiedBlob, type VerifiedBlob, type Verifier } from '../verify/verified-blob.ts';
import { absentAtNode, wrongBytes } from './fetch-failure.ts';
import type { FetchFailures } from './fetch-failures.ts';
import type { OrphanFinder } from './orphan-finder.ts';
import type { Spooler } from './spooler.ts';

/** Takes bytes that match neither hash of the name that a block gave them. */
export interface MismatchKeeper {
  /** One fetch gave these; true: they are kept. */
  notice(versionHash: VersionHash, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>;
}

/** Takes over what a node gave: bytes are verified, and made durable. */
export class BlobIntake {
  readonly #orphans: OrphanFinder;
  readonly #verifier: Verifier;
  readonly #custom: MismatchKeeper;
  readonly #spooler: Spooler;
  readonly #failures: FetchFailures;
  readonly #conditions: ConditionBoard;

  constructor(
    orphans: OrphanFinder,
    verifier: Verifier,
    custom: MismatchKeeper,
    spooler: Spooler,
    failures: FetchFailures,
    conditions: ConditionBoard,
  ) {
    this.#orphans = orphans;
    this.#verifier = verifier;
    this.#custom = custom;
    this.#spooler = spooler;
    this.#failures = failures;
    this.#conditions = conditions;
  }

  /** Gives why the blob did not come, or why there is no place for it; null: it is spooled. */
  async take(wanted: QueuedBlob, outcome: FetchOutcome | undefined, signal: AbortSignal): Promise<Error | null> {
    if (outcome === undefined) return absentAtNode(wanted);
    switch (outcome.kind) {
      case 'bytes': {
        const result = await this.#verified(outcome, wanted, signal);
        return result instanceof Error ? result : await this.#spool(result, wanted, signal);
      }
      case 'absent':
        return absentAtNode(wanted);
      case 'failed':
        return outcome.error;
      default:
        return outcome satisfies never;
    }
  }

  /** An orphan of a crash, stored without a row, is verified and indexed instead of fetched again. Gives the other blobs. */
  async withoutOrphans(batch: readonly QueuedBlob[], signal: AbortSignal): Promise<readonly QueuedBlob[]> {
    const suspected = new Set(batch.filter((wanted) => this.#orphans.mayHave(wanted)));
    if (suspected.size === 0) return batch;
    const missing: QueuedBlob[] = [];
    for (const wanted of batch) {
      const blob = suspected.has(wanted) ? await this.#findLeftOver(wanted, signal) : null;
      if (blob === null) missing.push(wanted);
      else {
        const failure = await this.#spool(blob, wanted, signal);
        if (failure !== null) this.#failures.record([[wanted, failure]]);
      }
    }
    return missing;
  }

  /**
   * A disk that does not give them, or not these, is no reason not to fetch them. That is no condition either: the fetched
   * blob replaces them, and nothing looks at them again to end it.
   */
  async #findLeftOver(wanted: QueuedBlob, signal: AbortSignal): Promise<VerifiedBlob | null> {
    try {
      return await this.#orphans.find(wanted, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#conditions.note('disk', `${wanted.versionHash} cannot be read here, and is fetched: ${messageOf(error)}`);
      return null;
    }
  }

  async #verified(outcome: FetchOutcome & { kind: 'bytes' }, wanted: QueuedBlob, signal: AbortSignal) {
    // Custom bytes of an unmined blob are not kept: any client can make them up. Verification may detach the bytes.
    const isSuspect = outcome.mayBeCustom === true && wanted.hashType !== null;
    const copy = isSuspect ? new Uint8Array(outcome.blob.bytes) : null;
    const verified = await this.#verifier.verify(namedByChain(outcome.blob, wanted));
    if (verified !== null) return verified;
    if (copy !== null) await this.#custom.notice(wanted.versionHash, copy, signal);
    return outcome.doubt ?? wrongBytes(wanted, outcome.blob);
  }

  /** Gives why there is no place for it; null: it is spooled. */
  async #spool(blob: VerifiedBlob, wanted: QueuedBlob, signal: AbortSignal): Promise<Error | null> {
    try {
      await this.#spooler.spool(blob, spooledAs(wanted, blob), signal);
      return null;
    } catch (error) {
      if (isForLater(error)) return error;
      throw error;
    } finally {
      forgetBytes(blob);
    }
  }
}

/** The hash type that the chain names excludes the other one. */
function namedByChain(blob: UnverifiedBlob, { hashType }: QueuedBlob): UnverifiedBlob {
  return hashType === null ? blob : { ...blob, hashType };
}

function spooledAs(wanted: QueuedBlob, blob: VerifiedBlob) {
  return { ...wanted, sizeBytes: blob.bytes.length, isUnmined: wanted.hashType === null };
}
