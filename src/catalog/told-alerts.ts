import { z } from 'zod';
import type { AlertLedger, ToldCondition } from '../core/alerts/alert-ledger.ts';
import type { Tables } from './tables.ts';

const FOLDER = 'alert';
const toldCondition = z.object({
  code: z.string(),
  severity: z.enum(['critical', 'error', 'warning']),
  amount: z.number().nullable(),
  since: z.string(),
});

/**
 * The last document that the receiver of alerts took, a fact for each subject; each change is one durable transaction.
 */
export class ToldAlerts implements AlertLedger {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  all(): Map<string, ToldCondition> {
    const { facts, reading } = this.#tables;
    return reading('read what alerts were delivered', () => facts.below(FOLDER, toldCondition));
  }

  put(subject: string, { code, severity, amount, since }: ToldCondition): void {
    const { facts, transaction } = this.#tables;
    transaction('record a delivered alert', () => facts.put(`${FOLDER}/${subject}`, { code, severity, amount, since }));
  }

  remove(subject: string): void {
    const { facts, transaction } = this.#tables;
    transaction('record a delivered alert', () => facts.forget(`${FOLDER}/${subject}`));
  }
}
