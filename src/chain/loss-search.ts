import type { AbsenceAnswer } from '../catalog/loss-document.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ContentName, HashType } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { UnverifiedBlob, VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import type { HeldBytes } from '../view/held-bytes.ts';
import type { NodeSource, Suspect } from './node-source.ts';

/**
 * A source that may have bytes: a backend or a peer. `null` is a definite answer of absence; a failure rejects.
 * `wrong-bytes`: two attempts gave bytes of something else.
 */
export interface RescueSource {
  readonly name: string;
  /** Kind and address of a peer, whatever name the operator gave it. Absent: the source is no peer. */
  readonly sourceName?: string;
  /** @param isAgain true after wrong bytes, to use another connection where possible */
  find(name: ContentName, signal: AbortSignal, isAgain: boolean): Promise<UnverifiedBlob | 'wrong-bytes' | null>;
}

export interface LossSearchModules {
  /** The data folder, every configured backend and every configured peer. */
  readonly sources: readonly RescueSource[];
  readonly nodes: readonly NodeSource[];
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly held: Pick<HeldBytes, 'copyOf'>;
  readonly conditions: ConditionBoard;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Answers of the sources together. `unanswered`: some did not answer, as `silent` says, and none of the others has the bytes. */
export type SearchResult =
  | { readonly kind: 'found'; readonly blob: VerifiedBlob; readonly peer: string | null }
  | { readonly kind: 'absent'; readonly answers: readonly AbsenceAnswer[] }
  | { readonly kind: 'unanswered'; readonly silent: readonly string[] };

type Answer = 'absent' | 'wrong-bytes' | { readonly noAnswer: string } | VerifiedBlob;

/** A node, backend or peer that must answer before a blob is lost. */
interface Asked {
  readonly name: string;
  readonly isPeer: boolean;
  readonly ask: (wanted: Suspect, signal: AbortSignal) => Promise<Answer>;
}

const COPIES = 2;

/** Asks every configured source for an overdue blob. A failure is no answer, and keeps nothing of the others from being found. */
export class LossSearch {
  readonly #modules: LossSearchModules;
  readonly #everybody: readonly Asked[];

  constructor(modules: LossSearchModules) {
    this.#modules = modules;
    this.#everybody = [
      ...modules.sources.map((source) => ({
        name: source.name,
        isPeer: source.sourceName !== undefined,
        ask: ({ hashType, versionHash }: Suspect, signal: AbortSignal) => {
          const name = { hashType, versionHash };
          return this.#ask(signal, hashType, (isAgain) => source.find(name, signal, isAgain));
        },
      })),
      ...modules.nodes.map((node) => ({
        name: node.name,
        isPeer: false,
        ask: (wanted: Suspect, signal: AbortSignal) =>
          this.#ask(signal, wanted.hashType, () => node.find(wanted, signal)),
      })),
    ];
  }

  /** The blob from this process's memory, whatever other copies exist; null: it is not there. */
  async inMemory(name: ContentName): Promise<VerifiedBlob | null> {
    const copy = this.#modules.held.copyOf(name);
    return copy === null ? null : await this.#modules.verifier.verify(copy);
  }

  /** Reports whether any source is not among those that answered. */
  hasOthers(answered: readonly AbsenceAnswer[]): boolean {
    return this.#besides(answered).length > 0;
  }

  /** Asks the sources that are not among those that answered. */
  async ask(wanted: Suspect, answered: readonly AbsenceAnswer[], signal: AbortSignal): Promise<SearchResult> {
    const asked = this.#besides(answered);
    const answers: AbsenceAnswer[] = [];
    const silent: string[] = [];
    for (const { name, isPeer, ask } of asked) {
      const answer = await ask(wanted, signal);
      if (typeof answer === 'string') {
        answers.push({ source: name, answered: answer, at: new Date(this.#modules.clock.wallMs()).toISOString() });
      } else if ('noAnswer' in answer) {
        const said = `${name}: ${answer.noAnswer}`;
        silent.push(said);
        this.#modules.conditions.note('chain:loss', `a source that may have overdue bytes did not answer: ${said}`);
      } else return { kind: 'found', blob: answer, peer: isPeer ? name : null };
    }
    return silent.length === 0 ? { kind: 'absent', answers } : { kind: 'unanswered', silent };
  }

  #besides(answered: readonly AbsenceAnswer[]): readonly Asked[] {
    return this.#everybody.filter(({ name }) => !answered.some(({ source }) => source === name));
  }

  /** Wrong bytes are fetched once more: the first copy may have been damaged on its way. */
  async #ask(
    signal: AbortSignal,
    hashType: HashType,
    find: (isAgain: boolean) => Promise<UnverifiedBlob | 'wrong-bytes' | null>,
  ): Promise<Answer> {
    try {
      for (let copy = 0; copy < COPIES; copy += 1) {
        const found = await find(copy > 0);
        if (found === null) return 'absent';
        if (found === 'wrong-bytes') return found;
        const verified = await this.#modules.verifier.verify({ ...found, hashType });
        if (verified !== null) return verified;
      }
      return 'wrong-bytes';
    } catch (error) {
      signal.throwIfAborted();
      return { noAnswer: messageOf(error) };
    }
  }
}
