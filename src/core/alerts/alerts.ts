import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../blob/errors.ts';
import type { ConditionBoard, Standing, Subject } from '../conditions/condition-board.ts';
import { bySeverity, urgencyOf } from '../conditions/condition-severity.ts';
import type { Notifier } from '../notifier.ts';
import { BACKOFF } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';
import { type Next, retryUntil, runLoop } from '../time/run-loop.ts';
import { ALERT_VERSION, type AlertDocument, MAX_STANDING } from './alert-document.ts';
import { type AlertHook, NOT_DELIVERED } from './alert-hook.ts';
import type { AlertLedger, ToldCondition } from './alert-ledger.ts';

/** The archive as a receiver of alerts is told of it. */
export interface ToldArchive {
  /** Conditions that hold now. */
  standing(): readonly Standing[];
  /** The archive's state in one sentence. */
  summary(): string;
}

export interface AlertModules {
  readonly archiverId: string;
  readonly hook: Pick<AlertHook, 'post'>;
  readonly ledger: AlertLedger;
  readonly archive: ToldArchive;
  readonly conditions: Pick<ConditionBoard, 'set' | 'setError'>;
  readonly clock: Clock;
  readonly wait: Notifier['wait'];
}

/** Milliseconds between two comparisons of the current conditions with the delivered ones. */
const LOOK_MS = 5_000;
/**
 * Conditions that come and go within this time are not sent, nor those that a start has yet to check. Danger is sent at
 * once.
 */
const SETTLED_MS = 60_000;
/**
 * While one of these holds, the chain is unreadable: a condition that a start has not raised again is not known to be
 * over.
 */
const BLIND: readonly Subject[] = ['node', 'chain:behind'];
/** A failed delivery is not reported to the receiver that could not be reached. */
const OWN = 'alert';

interface Change {
  readonly event: 'raised' | 'worsened' | 'cleared';
  readonly subject: string;
  /** null when the condition was cleared. */
  readonly now: Standing | null;
  readonly told: ToldCondition | null;
}

interface Pending {
  /** Identifies the change: another change is another document. */
  readonly key: string;
  readonly isOver: boolean;
  /** Since when something is to be told, whatever it is by now: what fails in another way each time is told too. */
  readonly sinceMs: number;
  readonly id: string;
  readonly at: string;
}

/**
 * Sends what is raised, worsens and clears to an outside receiver. The catalog keeps what was delivered; the difference
 * to the current conditions is still to be sent, at most one document per subject, also after a restart.
 */
export class Alerts {
  readonly #modules: AlertModules;
  #pending: ReadonlyMap<string, Pending> = new Map();
  /** Delivered conditions, as the ledger holds them; null before the first read. */
  #told: Map<string, ToldCondition> | null = null;
  /** Subjects of which the ledger is behind: where nothing can be written, all is told all the same, and once. */
  readonly #unwritten = new Set<string>();
  /** Subjects of which something stood since the start: as few as there are backends, nodes and tasks. */
  readonly #seen = new Set<string>();

  constructor(modules: AlertModules) {
    this.#modules = modules;
  }

  /** Tells until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      const faults: unknown[] = [];
      const told = this.#told ?? new Map(this.#modules.ledger.all());
      this.#told = told;
      const due = this.#due(told);
      this.#write(told, faults);
      for (const { change, pending } of due) {
        try {
          await this.#modules.hook.post(this.#documentOf(change, pending), signal);
          this.#record(told, change);
          this.#write(told, faults);
        } catch (error) {
          // A receiver that does not answer gets none of the other documents in this pass; one that refuses a document
          // may take the next.
          if (!isRefusal(error)) throw error;
          faults.push(error);
        }
      }
      if (faults.length > 0) throw faults[0];
      return LOOK_MS;
    };
    await runLoop(OWN, step, this.#policy(signal));
  }

  /** Delivers how things stand today. Rejects when the signal aborts before. */
  async digest(signal: AbortSignal): Promise<void> {
    const id = randomUUID();
    const post = () => this.#modules.hook.post(this.#digest(id), signal);
    await retryUntil('task:digest', post, this.#policy(signal));
  }

  #policy(signal: AbortSignal) {
    const { conditions, wait } = this.#modules;
    return { signal, backoff: BACKOFF.alert, wake: { notifications: 0, wait }, conditions, blocksReadiness: false };
  }

  /** Documents to send now, the most severe first. */
  #due(told: Map<string, ToldCondition>) {
    const { archive, clock } = this.#modules;
    const now = new Map<string, Standing>(archive.standing().map((one) => [one.subject, one]));
    for (const subject of now.keys()) this.#seen.add(subject);
    const isBlind = BLIND.some((subject) => now.has(subject));
    const nowMs = clock.steadyMs();
    const next = new Map<string, Pending>();
    const due: { readonly change: Change; readonly pending: Pending }[] = [];
    for (const subject of new Set<string>([...now.keys(), ...told.keys()])) {
      if (subject === OWN) continue;
      if (isBlind && !now.has(subject) && !this.#seen.has(subject)) continue;
      const change = this.#compare(told, subject, now.get(subject) ?? null);
      if (change === null) continue;
      const { event, now: stands } = change;
      const key = [event, stands?.code, stands?.severity, stands?.amount].join(' ');
      const before = this.#pending.get(subject);
      const at = new Date(clock.wallMs()).toISOString();
      const isOver = stands === null;
      const sinceMs = before?.isOver === isOver ? before.sinceMs : nowMs;
      const pending = before?.key === key ? before : { key, isOver, sinceMs, id: randomUUID(), at };
      next.set(subject, pending);
      const isDanger = stands?.severity === 'critical';
      if (isDanger || nowMs - pending.sinceMs >= SETTLED_MS) due.push({ change, pending });
    }
    this.#pending = next;
    const urgency = ({ change: { now: stands, told: former } }: (typeof due)[number]) =>
      urgencyOf(stands ?? former ?? { code: '', severity: 'warning' });
    return due.toSorted((a, b) => urgency(a) - urgency(b));
  }

  /** null: nothing is to be told. What eased is taken note of, so that it is told when it worsens again. */
  #compare(all: Map<string, ToldCondition>, subject: string, now: Standing | null): Change | null {
    const told = all.get(subject) ?? null;
    if (now === null) return { event: 'cleared', subject, now, told };
    if (told === null) return { event: 'raised', subject, now, told };
    if (urgencyOf(now) < urgencyOf(told)) return { event: 'worsened', subject, now, told };
    if (now.code !== told.code) return { event: 'raised', subject, now, told };
    const [amount, toldAmount] = [now.amount ?? 0, told.amount ?? 0];
    if (amount > toldAmount) return { event: 'worsened', subject, now, told };
    if (amount < toldAmount || now.severity !== told.severity) this.#record(all, { subject, now });
    return null;
  }

  #record(told: Map<string, ToldCondition>, { subject, now }: Pick<Change, 'subject' | 'now'>): void {
    this.#unwritten.add(subject);
    if (now === null) {
      told.delete(subject);
      return;
    }
    const { code, severity, since, amount = null } = now;
    told.set(subject, { code, severity, amount, since });
  }

  #write(told: ReadonlyMap<string, ToldCondition>, faults: unknown[]): void {
    const { ledger } = this.#modules;
    try {
      for (const subject of this.#unwritten) {
        const one = told.get(subject);
        if (one === undefined) ledger.remove(subject);
        else ledger.put(subject, one);
        this.#unwritten.delete(subject);
      }
    } catch (error) {
      faults.push(error);
    }
  }

  #documentOf({ event, subject, now, told }: Change, { id, at }: Pending): AlertDocument {
    const base = { ...this.#base(id, at), event, subject };
    if (now !== null) {
      const { code, severity, message, hint } = now;
      return {
        ...base,
        code,
        severity,
        message,
        hint,
        replaces: told === null || told.code === code ? null : told.code,
      };
    }
    const { code, severity, since } = told ?? { code: '', severity: 'warning' as const, since: at };
    // A condition that a start has not checked yet is not known to be over.
    const over = this.#seen.has(subject) ? 'is over' : 'has not been found again since the archiver started';
    return {
      ...base,
      code,
      severity,
      message: `${code} ${over}. It stood since ${since}.`,
      hint: null,
      replaces: null,
    };
  }

  #digest(id: string): AlertDocument {
    const base = this.#base(id, new Date(this.#modules.clock.wallMs()).toISOString());
    const message = this.#modules.archive.summary();
    const severity = base.standing[0]?.severity ?? null;
    return { ...base, event: 'digest', subject: null, code: null, severity, message, hint: null, replaces: null };
  }

  #base(id: string, at: string) {
    const standing = bySeverity(this.#modules.archive.standing().filter(({ code: which }) => which !== NOT_DELIVERED))
      .slice(0, MAX_STANDING)
      .map(({ code, severity, message, hint, since }) => ({ code, severity, message, hint, since }));
    return { version: ALERT_VERSION, id, at, archiver: this.#modules.archiverId, standing } as const;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof HoldfastError && error.details['status'] !== undefined;
}
