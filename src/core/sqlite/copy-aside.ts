import { closeSync, fsyncSync, globSync, openSync, renameSync, rmSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { clauseOf, codeOf } from '../blob/errors.ts';
import { SqliteError } from './errors.ts';

/**
 * Copies the database to `<file>.before-<name>`, so that an operator can go back to an older program. Deletes the copy
 * of an earlier migration; keeps an existing copy of this name.
 */
export function copyAside(database: Database.Database, name: string): void {
  const copy = `${database.name}.before-${name}`;
  const others = globSync(`${database.name}.before-*`);
  if (others.includes(copy)) return;
  const unfinished = `${database.name}.copying`;
  try {
    rmSync(unfinished, { force: true });
    database.prepare('VACUUM INTO ?').run(unfinished);
    const file = openSync(unfinished, 'r+');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, copy);
  } catch (cause) {
    throw new SqliteError(
      'sqlite/cannot-copy',
      `${database.name} cannot be copied before it is changed: ${clauseOf(cause)}.`,
      {
        details: { copy, systemCode: codeOf(cause) },
        retryable: false,
        hint: 'Make room for the copy on the volume of the data folder, and start again: nothing was changed yet.',
        cause,
      },
    );
  }
  for (const other of others) rmSync(other, { force: true });
}
