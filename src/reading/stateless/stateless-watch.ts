import type { BlockHash } from '../../core/blob/ids.ts';
import { parseVersionHash } from '../../core/blob/ids.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import { BACKOFF } from '../../core/time/backoff.ts';
import { type Next, pause, runLoop } from '../../core/time/run-loop.ts';
import type { BackendHandle } from '../../replication/backend-handle.ts';
import { boundChain } from '../../storage/chain-binding.ts';
import { StorageError } from '../../storage/errors.ts';
import type { ArchiverUpstream } from './archiver-upstream.ts';
import type { WithheldNames } from './withheld-names.ts';

const EVERY_MS = 10_000;
const ASK_MS = 8_000;
/** Milliseconds for which a start waits for backends to refuse one of another chain; later that is a condition. */
const FIRST_LOOK_MS = 3_000;
/** A name without content, to see whether a store without a marker answers at all. */
const NOBODY = { hashType: 'keccak256', versionHash: parseVersionHash('0'.repeat(64)) } as const;

/** Whether the backends and the archiver answer, and what the backends withhold: asked again and again. */
export class StatelessWatch {
  readonly #sites: readonly BackendHandle[];
  readonly #withheld: WithheldNames;
  readonly #archiver: Pick<ArchiverUpstream, 'isAway' | 'look'> | null;
  readonly #conditions: ConditionBoard;

  constructor(
    sites: readonly BackendHandle[],
    withheld: WithheldNames,
    archiver: Pick<ArchiverUpstream, 'isAway' | 'look'> | null,
    conditions: ConditionBoard,
  ) {
    this.#sites = sites;
    this.#withheld = withheld;
    this.#archiver = archiver;
    this.#conditions = conditions;
  }

  /**
   * Looks for the first time, and goes on until the signal aborts: `ended`. `settled`: the first look is over, or took too
   * long to be waited for; then readiness says so until it is.
   */
  start(signal: AbortSignal): { readonly settled: Promise<void>; readonly ended: Promise<void> } {
    const looked = this.look(signal);
    return { settled: this.#settled(looked), ended: looked.then(() => this.#goOn(signal)) };
  }

  async #settled(looked: Promise<void>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#conditions.set('node', {
        code: 'reader/not-asked-yet',
        message: 'Not every backend has answered yet.',
        hint: 'Wait some seconds; then the status names the backend that does not answer.',
        blocksReadiness: true,
      });
      resolve();
    }, FIRST_LOOK_MS);
    try {
      await Promise.race([looked, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #goOn(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      await pause(EVERY_MS, signal);
      await this.look(signal);
      return 0;
    };
    await runLoop('chain:reader-look', step, { signal, backoff: BACKOFF.remote, conditions: this.#conditions });
  }

  /** Everything once. Never throws for what backends do. */
  async look(signal: AbortSignal): Promise<void> {
    const sites = this.#sites;
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
    const looked = this.#archiver?.look(deadline);
    // Side by side: one backend that is silent until the deadline keeps no other from saying what it withholds.
    const [asked] = await Promise.all([
      Promise.all(sites.map((site) => this.#ask(site, deadline))),
      this.#readWithheld(this.#withheld, signal, deadline),
    ]);
    // A stopped check has no answers, which proves nothing about the backends.
    if (signal.aborted) return;
    // One that answers is enough to be of use; without any, others should be asked instead.
    const none = asked.every((answer) => answer instanceof StorageError);
    for (const [index, { id }] of sites.entries()) {
      const answer = asked[index];
      if (answer instanceof StorageError) this.#conditions.setError(`backend:${id}`, answer, none);
      else this.#conditions.set(`backend:${id}`, null);
    }
    this.#compareChains(asked);
    // A silent archiver holds up nothing of the above.
    await looked;
    if (signal.aborted) return;
    this.#conditions.set(
      'node',
      this.#archiver?.isAway === true
        ? {
            code: 'reader/archiver-away',
            message: 'The archiver does not answer; what no backend has is refused.',
            hint: 'Look at HOLDFAST_ARCHIVER_URL and at the archiver.',
            blocksReadiness: false,
          }
        : null,
    );
  }

  async #readWithheld(withheld: WithheldNames, signal: AbortSignal, deadline: AbortSignal): Promise<void> {
    const faults = await withheld.refresh(signal, deadline).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (faults === null) return;
    const [fault] = faults.values();
    const [unread] = withheld.unread;
    const [late] = withheld.late;
    if (fault !== undefined) this.#conditions.setError('list', fault, unread !== undefined);
    else if (unread !== undefined) {
      this.#conditions.set('list', {
        code: 'reader/withheld-unknown',
        message: `What ${unread} withholds has not been read yet, so nothing is served.`,
        hint: 'Many records take a while. If this lasts, let this reader list and read audit/ there.',
        blocksReadiness: true,
      });
    } else if (late !== undefined) {
      this.#conditions.set('list', {
        code: 'reader/withheld-late',
        message: `What ${late} withholds is being read for long: what was withheld meanwhile is still served.`,
        hint: 'Look at how fast that store lists and gives audit/, and put this reader nearer to it.',
        blocksReadiness: false,
      });
    } else this.#conditions.set('list', null);
  }

  async #ask(site: BackendHandle, signal: AbortSignal): Promise<BlockHash | null | StorageError> {
    const { store } = site;
    try {
      return await site.judged(async () => {
        if (store.properties.holds.has('binding')) return await boundChain(store, signal);
        await store.stat(NOBODY, signal);
        return null;
      }, signal);
    } catch (error) {
      if (error instanceof StorageError) return error;
      return new StorageError('storage/timeout', `The ${site.id} store did not answer in time.`, {
        details: { backend: site.id },
        retryable: true,
        hint: 'Look at that server and the way to it.',
        cause: error,
      });
    }
  }

  #compareChains(asked: readonly (BlockHash | null | StorageError)[]): void {
    const chains = new Set(asked.filter((answer) => typeof answer === 'string'));
    const [one, other] = chains;
    const differ = one !== undefined && other !== undefined;
    this.#conditions.set(
      'chain:reader',
      differ
        ? {
            code: 'storage/other-chain',
            message: `The backends belong to different chains: ${one} and ${other}.`,
            hint: 'Give each chain a reader of its own.',
            blocksReadiness: true,
          }
        : null,
    );
    for (const [index, site] of this.#sites.entries()) {
      const answer = asked[index];
      if (typeof answer === 'string' || answer === null) site.isAdmitted = !differ;
    }
  }
}
