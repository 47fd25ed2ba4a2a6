import { z } from 'zod';
import type { Tables } from './tables.ts';

/** Statements of others that are kept to be compared with later ones. */
const MAX_KEPT = 256;
const FOLDER = 'peer-statement';
/** Facts come in the order of their names. */
const DIGITS = 12;

/** Signed statements of other archivers, as they came: the newest, so that two that contradict each other are noticed. */
export class StatementTable {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** The same again is nothing. */
  put(document: string): void {
    const { facts } = this.#tables;
    this.#tables.transaction('keep what a peer stated', () => {
      const kept = facts.below(FOLDER, z.string());
      if ([...kept.values()].includes(document)) return;
      const names = [...kept.keys()];
      const number = 1 + Number(names.at(-1) ?? 0);
      facts.put(`${FOLDER}/${String(number).padStart(DIGITS, '0')}`, document);
      for (const name of names.slice(0, Math.max(0, names.length + 1 - MAX_KEPT))) facts.forget(`${FOLDER}/${name}`);
    });
  }

  /** The oldest first. */
  all(): string[] {
    return this.#tables.reading('read what peers stated', () => [
      ...this.#tables.facts.below(FOLDER, z.string()).values(),
    ]);
  }
}
