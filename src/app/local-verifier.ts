import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { DamageWatch, ReadCopy } from '../replication/damage-watch.ts';
import type { LocalCopies } from '../replication/local-copies.ts';
import { forgetBytes } from '../verify/verified-blob.ts';

export interface LocalVerifierModules {
  readonly local: LocalCopies;
  readonly catalog: Catalog;
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
  /** Fetching goes first: what is not durable yet has a deadline, a read-back has none. `rested` notifies when it ends. */
  readonly fetcher: { readonly idle: boolean; readonly rested: Notifier };
  readonly clock: Clock;
}

/** Read-back waits for a busy fetcher at most this long. */
const LONGEST_DEFERRAL_MS = 5_000;
/** Bytes that are read back before their proofs are committed together. */
const GROUP_BYTES = 8_388_608;
const GROUP_ENTRIES = 256;

/** Milliseconds until an unreadable blob is read again; the others go on. */
const FAULT_REST_MS = 30_000;

/** Fetches back what was spooled here and hashes it again: only then does the copy here count. */
export class LocalVerifier {
  readonly #modules: LocalVerifierModules;
  #deferredSinceMs: number | null = null;
  /** Sequences of what the disk did not give when it was asked last. */
  readonly #unread = new Set<number>();

  constructor(modules: LocalVerifierModules) {
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, local, fetcher, conditions } = this.#modules;
    const { replicas } = catalog;
    const step = async (): Promise<Next> => {
      const lookedMs = catalog.nowMs();
      const deferredMs = this.#deferredMs();
      if (deferredMs > 0) return deferredMs;
      return (await this.#proveSome(signal)) ? 0 : replicas.idleMs(local.id, lookedMs);
    };
    // The disk works again when everything was read, not when one step without a read succeeded.
    const tell = (error: unknown) => {
      if (error !== null) conditions.setError('disk', error);
    };
    const wake = Notifier.following(replicas.changes(local.id), fetcher.rested);
    await runLoop('disk', step, { signal, backoff: BACKOFF.local, wake, tell });
  }

  /** Milliseconds for which a busy fetcher still goes first. */
  #deferredMs(): number {
    const atMs = this.#modules.clock.steadyMs();
    const sinceMs = this.#deferredSinceMs ?? atMs;
    const leftMs = this.#modules.fetcher.idle ? 0 : Math.max(0, sinceMs + LONGEST_DEFERRAL_MS - atMs);
    this.#deferredSinceMs = leftMs > 0 ? sinceMs : null;
    return leftMs;
  }

  /** false: nothing to do. */
  async #proveSome(signal: AbortSignal): Promise<boolean> {
    const { local, catalog, damage, conditions } = this.#modules;
    const waiting = catalog.unprovenAt(local.id, GROUP_ENTRIES);
    const { reports } = damage;
    const good: ReadCopy<ContentEntry>[] = [];
    let bytes = 0;
    for (const entry of waiting) {
      if (bytes >= GROUP_BYTES) break;
      bytes += entry.sizeBytes;
      const isProven = await this.#readBack(entry, signal);
      if (isProven === 'unread') continue;
      this.#unread.delete(entry.sequence);
      if (isProven) good.push({ entry, reports });
      else damage.report(local.id, entry);
    }
    // A reader may have found one damaged meanwhile.
    damage.recordProven(local.id, good);
    if (this.#unread.size === 0) conditions.set('disk', null);
    return waiting.length > 0;
  }

  async #readBack(entry: ContentEntry, signal: AbortSignal): Promise<boolean | 'unread'> {
    const { local, catalog, conditions } = this.#modules;
    try {
      const finding = await local.examineElsewhere(entry, signal);
      if (finding.kind === 'good') forgetBytes(finding.blob);
      // Fetched again after a rest only: the disk may give it then, and the node is not asked for it without end.
      const isFirstFault = 'error' in finding && !this.#unread.has(entry.sequence);
      if (isFirstFault) throw finding.error;
      return finding.kind === 'good';
    } catch (error) {
      signal.throwIfAborted();
      this.#unread.add(entry.sequence);
      conditions.setError('disk', error, false);
      const code = codeOf(error) ?? 'archive/unexpected';
      const failure = { code, message: messageOf(error), nextAttemptMs: catalog.nowMs() + FAULT_REST_MS };
      catalog.replicas.recordFailures(local.id, [{ sequence: entry.sequence, ...failure }]);
      return 'unread';
    }
  }
}
