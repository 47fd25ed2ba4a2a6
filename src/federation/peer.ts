import type { EmptyAnswer } from '../backfill/backfill-report.ts';
import type { BackfillSource } from '../backfill/source/backfill-source.ts';
import { type VerifiedAnswer, VerifiedSource } from '../backfill/verified-source.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF, backoffMs, NO_JITTER } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { pause } from '../core/time/run-loop.ts';
import type { UnverifiedBlob, VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import type { PeerAudits, PeerComparison, PeerStatus } from '../view/archive-view.ts';
import type { ArchiveAudit } from './audit-archive.ts';

export interface PeerModules {
  /** Name that the operator gave it; null: it is called by its address. */
  readonly called: string | null;
  readonly verifier: Verifier;
  readonly conditions: ConditionBoard;
  /** Questions a second at most. */
  readonly ratePerSecond: number;
  readonly clock: Clock;
}

/** A comparison under way. */
export type ComparisonTally = { -readonly [K in keyof PeerComparison]: PeerComparison[K] };

/** Another archive, a bucket or a folder that the operator names, and that is not trusted: its bytes count by their hash. */
export class Peer {
  readonly #verifiedSource: VerifiedSource;
  readonly #modules: PeerModules;
  /** The last comparison with it. */
  compared: PeerComparison | null = null;
  /** The draws that it was asked to prove since the start. */
  audited: PeerAudits | null = null;
  #lies = 0;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  /** The same moment for people; null: it has told no lie since it last gave right bytes. */
  #restsUntil: string | null = null;
  /** Whether it answered its last question; null: it has been asked nothing. */
  #answered: boolean | null = null;
  #nextQuestionMs = Number.NEGATIVE_INFINITY;

  constructor(source: BackfillSource, modules: PeerModules) {
    this.#modules = modules;
    this.#verifiedSource = new VerifiedSource(source, modules.verifier, () => undefined, modules.clock);
  }

  /** The name by which it is told of everywhere, without credentials: `peer berlin`, `peer https://archive.example`. */
  get name(): string {
    const { called } = this.#modules;
    const { name } = this.#verifiedSource;
    return called === null ? name : `${name.slice(0, name.indexOf(' '))} ${called}`;
  }

  /** Kind and address, whatever the operator calls it: the name that the same source has in a backfill. */
  get sourceName(): string {
    return this.#verifiedSource.name;
  }

  /**
   * The public name, and what messages can give in its place. The name of a bucket may be any word, as `blobs` or
   * `holdfast`, so it counts only behind its kind.
   */
  publicPlace(unnamed: string): { readonly name: string; readonly addresses: readonly string[] } {
    const name = this.#modules.called ?? unnamed;
    const { sourceName } = this;
    const kind = sourceName.slice(0, sourceName.indexOf(' '));
    const address = sourceName.slice(kind.length + 1);
    if (address.startsWith('/') || URL.canParse(address)) return { name, addresses: [address] };
    return { name: `${kind} ${name}`, addresses: [sourceName] };
  }

  get status(): PeerStatus {
    const { gave, gaveBytes, absent, withheld, wrongBytes } = this.#verifiedSource.tally;
    return {
      name: this.name,
      state: this.#state,
      leftAloneUntil: this.isResting ? this.#restsUntil : null,
      gave,
      gaveBytes,
      absent,
      withheld,
      wrongBytes,
      compared: this.compared,
      audited: this.audited,
    };
  }

  /** Begins to compare what the peer holds; nothing of it is in the status yet. */
  newComparison(): ComparisonTally {
    const at = this.#now();
    const counts = { onlyThere: 0, onlyHere: 0, fetched: 0, notGiven: 0 };
    const endedAt = this.compared?.endedAt ?? at;
    return { at, endedAt, extent: 'partial', from: null, to: null, ...counts, contradiction: null };
  }

  /** Counts what the peer proved when it was asked to. */
  addAudit({ outcomes, samples }: Pick<ArchiveAudit, 'outcomes' | 'samples'>): void {
    const before = this.audited;
    const sum = (outcome: keyof typeof outcomes) => (before?.outcomes[outcome] ?? 0) + outcomes[outcome];
    this.audited = {
      at: this.#now(),
      samples: (before?.samples ?? 0) + samples,
      outcomes: {
        good: sum('good'),
        absent: sum('absent'),
        withheld: sum('withheld'),
        'not-archived-by-rule': sum('not-archived-by-rule'),
        'wrong-bytes': sum('wrong-bytes'),
        'no-proof': sum('no-proof'),
        'no-answer': sum('no-answer'),
      },
    };
  }

  #now(): string {
    return new Date(this.#modules.clock.wallMs()).toISOString();
  }

  /** Asks for a caller that may not go on without an answer, however this peer did before. Throws where it does not answer. */
  async find(name: ContentName, signal: AbortSignal): Promise<UnverifiedBlob | 'wrong-bytes' | null> {
    const answer = await this.#ask(name, signal);
    if (answer.kind === 'found') return { ...name, bytes: answer.blob.bytes };
    if (answer.kind === 'empty' && answer.answered === 'absent') return null;
    if (answer.kind === 'empty' && answer.answered === 'wrong-bytes') return 'wrong-bytes';
    // To withhold a blob is not to lack it.
    throw new Error(answer.kind === 'no-answer' ? answer.why : 'That archive withholds the blob (451).');
  }

  /** null: this peer does not help with this blob now. */
  async help(name: ContentName, signal: AbortSignal): Promise<VerifiedBlob | null> {
    const answer = await this.claim(name, signal);
    return typeof answer === 'string' ? null : answer;
  }

  /** Asks for a blob that it may hold; null: it did not answer, or is left alone. */
  async claim(
    name: ContentName,
    signal: AbortSignal,
  ): Promise<VerifiedBlob | EmptyAnswer | 'not-archived-by-rule' | null> {
    if (this.isResting) return null;
    const answer = await this.#ask(name, signal);
    if (answer.kind === 'found') return answer.blob;
    if (answer.kind !== 'empty') return null;
    return answer.byRule === true ? 'not-archived-by-rule' : answer.answered;
  }

  /** The answer of a Holdfast to a GET; null: it is none, has nothing there, or is left alone. Throws where it does not answer. */
  async question(path: string, signal: AbortSignal): Promise<unknown> {
    if (this.isResting) return null;
    await this.#waitForTurn(signal);
    try {
      const answer = await this.#verifiedSource.question(path, signal);
      // null may have come without a question: a bucket or folder answers none.
      if (answer !== null) this.#heard();
      return answer;
    } catch (error) {
      if (!signal.aborted) this.#answered = false;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#verifiedSource.close();
  }

  /** The peer gave wrong bytes, and is asked for nothing that another may answer. */
  get isResting(): boolean {
    return this.#modules.clock.steadyMs() < this.#restsUntilMs;
  }

  get #state(): PeerStatus['state'] {
    if (this.isResting) return 'left-alone';
    if (this.#answered === null) return 'not-asked';
    return this.#answered ? 'good' : 'silent';
  }

  async #ask(name: ContentName, signal: AbortSignal): Promise<VerifiedAnswer> {
    await this.#waitForTurn(signal);
    const answer = await this.#verifiedSource.ask(name, signal);
    this.#answered = answer.kind !== 'no-answer';
    if (answer.kind === 'no-answer') this.#tellSilent(answer.why);
    else if (answer.kind === 'empty' && answer.answered === 'wrong-bytes') this.#lied(name);
    else if (answer.kind === 'found') this.#gaveRight();
    else this.#heard();
    return answer;
  }

  /** The peer answers. A lie stays told until it gives right bytes. */
  #heard(): void {
    this.#answered = true;
    if (this.#lies === 0) this.#tell(null);
  }

  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const { clock, ratePerSecond } = this.#modules;
    const nowMs = clock.steadyMs();
    const turnMs = Math.max(nowMs, this.#nextQuestionMs);
    this.#nextQuestionMs = turnMs + 1_000 / ratePerSecond;
    if (turnMs > nowMs) await pause(turnMs - nowMs, signal);
    signal.throwIfAborted();
  }

  #gaveRight(): void {
    this.#lies = 0;
    this.#restsUntilMs = Number.NEGATIVE_INFINITY;
    this.#restsUntil = null;
    this.#tell(null);
  }

  #lied({ hashType, versionHash }: ContentName): void {
    this.#lies += 1;
    const restMs = backoffMs(BACKOFF.liar, this.#lies, NO_JITTER);
    const { clock } = this.#modules;
    this.#restsUntilMs = clock.steadyMs() + restMs;
    this.#restsUntil = new Date(clock.wallMs() + restMs).toISOString();
    this.#tell({
      code: 'peer/wrong-bytes',
      message: `${this.name} gave bytes that do not hash to the ${hashType} ${versionHash}. Holdfast took none of them, and asks this peer for no other blob for ${Math.round(restMs / 60_000)} min.`,
      hint: 'Tell the operator of that archive, or take it out of HOLDFAST_PEERS.',
    });
  }

  /** A lie is worse, and stays told. */
  #tellSilent(why: string): void {
    if (this.#lies > 0) return;
    this.#tell({
      code: 'peer/no-answer',
      message: `${this.name} does not answer: ${why}`,
      hint: 'Look at its address in HOLDFAST_PEERS and at that archive. Nothing is called lost before every peer has answered.',
    });
  }

  #tell(raised: { readonly code: string; readonly message: string; readonly hint: string } | null): void {
    this.#modules.conditions.set(`peer:${this.name}`, raised && { ...raised, blocksReadiness: false });
  }
}
