import type { Catalog } from '../catalog/catalog.ts';
import type { Loss } from '../catalog/loss-document.ts';
import type { MissingContent } from '../catalog/missing-contents.ts';
import type { LossRule } from '../chain/loss-rule.ts';
import type { RescueSource } from '../chain/loss-search.ts';
import { deadlineOf } from '../core/blob/limits.ts';
import { GroupCommit } from '../core/sqlite/group-commit.ts';
import type { Clock } from '../core/time/clock.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { SourceAnswered } from './backfill-report.ts';
import type { OwnPlaces } from './own-places.ts';

export interface LossRecordModules {
  readonly catalog: Catalog;
  readonly rule: LossRule;
  readonly chain: Pick<ChainState, 'isCurrent'>;
  readonly own: OwnPlaces;
  /** Every configured peer. */
  readonly peers: readonly RescueSource[];
  readonly clock: Clock;
}

const GROUP_LIMIT = 64;

/**
 * Records content as lost by the rule alone: its deadline is over, and every configured node, backend and peer answered
 * that it lacks the bytes. Answers of peers alone prove nothing about that.
 */
export class LossRecord {
  readonly #modules: LossRecordModules;
  readonly #commits: GroupCommit<Loss>;

  constructor(modules: LossRecordModules) {
    this.#modules = modules;
    this.#commits = new GroupCommit((losses) => void modules.rule.record(losses), GROUP_LIMIT, modules.clock);
  }

  /** `answers`: of all the sources; the nodes are among them. Resolves to true when the content is recorded as lost. */
  async judge(content: MissingContent, answers: readonly SourceAnswered[], signal: AbortSignal): Promise<boolean> {
    const { catalog, own, clock } = this.#modules;
    // A source that withholds the content, or did not answer, has not denied having it.
    if (answers.some(({ answered }) => answered !== 'absent' && answered !== 'wrong-bytes')) return false;
    const deadlineSeconds = this.#overdue(content);
    const upToHeight = catalog.chain.lastHeight(content);
    if (deadlineSeconds === null || upToHeight === null) return false;
    const ours = await own.absence(content, signal);
    if (ours === null) return false;
    const others = await this.#peersBesides(answers, content, signal);
    if (others === null) return false;
    const at = new Date(clock.wallMs()).toISOString();
    const said = [...ours, ...answers, ...others].flatMap(({ source, answered }) =>
      answered === 'absent' || answered === 'wrong-bytes' ? [{ source, answered, at }] : [],
    );
    const { hashType, versionHash } = content;
    await this.#commits.add({ hashType, versionHash, upToHeight, deadlineSeconds, answers: said });
    return catalog.losses.find(content) !== null;
  }

  /** The peers that were no source of this run; null: one of them has the bytes, or did not answer. */
  async #peersBesides(
    answers: readonly SourceAnswered[],
    { hashType, versionHash }: MissingContent,
    signal: AbortSignal,
  ): Promise<SourceAnswered[] | null> {
    const asked: SourceAnswered[] = [];
    for (const peer of this.#modules.peers) {
      if (answers.some(({ source }) => source === (peer.sourceName ?? peer.name))) continue;
      try {
        const found = await peer.find({ hashType, versionHash }, signal, false);
        if (found !== null && found !== 'wrong-bytes') return null;
        asked.push({ source: peer.name, answered: found ?? 'absent', why: null });
      } catch {
        signal.throwIfAborted();
        return null;
      }
    }
    return asked;
  }

  /** When its last occurrence was over; null: it is not, or that cannot be said now. */
  #overdue({ hashType, versionHash }: MissingContent): number | null {
    const { catalog, rule, chain } = this.#modules;
    const tipSeconds = rule.tipSeconds();
    if (tipSeconds === null || !chain.isCurrent || rule.isListed(versionHash)) return null;
    const last = catalog.chain.lastHeight({ hashType, versionHash });
    const block = last === null ? null : catalog.chain.blockAt(last);
    if (block === null || deadlineOf(block.medianTimeSeconds) >= tipSeconds) return null;
    return deadlineOf(block.medianTimeSeconds);
  }
}
