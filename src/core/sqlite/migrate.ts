import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { Clock } from '../time/clock.ts';
import { copyAside } from './copy-aside.ts';
import { SqliteError } from './errors.ts';

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

const recordedRow = z.object({ number: z.number().int(), name: z.string(), checksum: z.string() });

/** Reads SQL files named like `0001_what.sql`, in order of their numbers, which have no gaps. */
export function readMigrations(folder: string): Migration[] {
  const migrations = readdirSync(folder)
    .filter((file) => /^\d{4}_[a-z0-9-]+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(folder, file), 'utf8');
      return {
        number: Number(file.slice(0, 4)),
        name: file,
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
      };
    });
  for (const [index, migration] of migrations.entries()) {
    if (migration.number !== index + 1)
      throw new Error(`migrations are not numbered without gaps at ${migration.name}`);
  }
  return migrations;
}

/**
 * Migrates the database to the newest version. Each step commits together with its record. A database of an older
 * version is copied aside first.
 */
export function migrate(
  database: Database.Database,
  migrations: readonly Migration[],
  clock: Pick<Clock, 'wallMs'>,
): void {
  database.exec(
    'CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT',
  );
  const recorded = z
    .array(recordedRow)
    .parse(database.prepare('SELECT number, name, checksum FROM migration ORDER BY number').all());
  for (const row of recorded) refuseUnless(migrations[row.number - 1], row, database.name);

  const next = migrations[recorded.length];
  if (next !== undefined && recorded.length > 0) copyAside(database, next.name.slice(0, 4));
  const record = database.prepare('INSERT INTO migration (number, name, checksum, applied_ms) VALUES (?, ?, ?, ?)');
  for (const migration of migrations.slice(recorded.length)) {
    database
      .transaction(() => {
        database.exec(migration.sql);
        record.run(migration.number, migration.name, migration.checksum, clock.wallMs());
      })
      .immediate();
  }
}

/** The command that replaces this database by a new one; its write-ahead log and index file go with it. */
function rebuildCommand(path: string): string {
  const folder = dirname(path);
  return `mkdir -p ${folder}/before && mv ${path}* ${folder}/before/ && holdfast rebuild`;
}

function refuseUnless(known: Migration | undefined, row: z.infer<typeof recordedRow>, path: string): void {
  if (known === undefined) {
    throw new SqliteError(
      'sqlite/newer-than-program',
      `The catalog was written by a newer holdfast (it has migration ${row.name}, unknown to this version).`,
      {
        details: { migration: row.name },
        retryable: false,
        hint: `Run the newer version. Or rebuild the catalog, which is a cache: ${rebuildCommand(path)}`,
      },
    );
  }
  if (known.name !== row.name) {
    throw new SqliteError(
      'sqlite/older-than-program',
      `The catalog was written by a holdfast from before the first release (it begins with ${row.name}), and this version does not convert it.`,
      {
        details: { recorded: row.name, carried: known.name },
        retryable: false,
        hint: `The catalog is a cache: rebuild it from the data folder and the backends. Type: ${rebuildCommand(path)}`,
      },
    );
  }
  if (known.checksum !== row.checksum) {
    throw new SqliteError(
      'sqlite/migration-changed',
      `Migration ${row.name} was applied to the catalog in another wording than this version carries.`,
      {
        details: { migration: row.name, recorded: row.checksum, carried: known.checksum },
        retryable: false,
        hint: `Run the version that wrote this catalog. Or rebuild the catalog, which is a cache: ${rebuildCommand(path)}`,
      },
    );
  }
}
