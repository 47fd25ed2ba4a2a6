import type Database from 'better-sqlite3';
import { z } from 'zod';
import { Facts } from './facts.ts';
import { REPLICATION } from './replication-basis.ts';

/** A configured name that stands for another place than the last time. */
export interface MovedBackend {
  readonly backend: string;
  readonly from: string;
  readonly to: string;
}

const backendRow = z.object({ id: z.number(), place: z.string().nullable() });

/**
 * A name of the configuration that names another place now is another backend, that holds nothing yet. What was proven at
 * the former place is put away under a name of its own, and counts again when that place comes back. Before anything else
 * looks at backends.
 */
export function settlePlaces(database: Database.Database, places: ReadonlyMap<string, string>): MovedBackend[] {
  const find = database.prepare('SELECT id, place FROM backend WHERE name = ?');
  const note = database.prepare('UPDATE backend SET place = ? WHERE id = ?');
  const moved: MovedBackend[] = [];
  database
    .transaction(() => {
      for (const [backend, to] of places) {
        const row = find.get(backend);
        const found = row === undefined ? null : backendRow.parse(row);
        if (found !== null && found.place !== null && found.place !== to) {
          moveAway(database, backend, found.place, to);
          moved.push({ backend, from: found.place, to });
        } else if (found === null) enter(database, backend, to);
        else if (found.place === null) note.run(to, found.id);
      }
    })
    .immediate();
  return moved;
}

function moveAway(database: Database.Database, backend: string, from: string, to: string): void {
  const former = formerName(backend, from);
  const rename = database.prepare('UPDATE backend SET name = ? WHERE name = ?');
  rename.run(former, backend);
  if (rename.run(backend, formerName(backend, to)).changes === 0) enter(database, backend, to);
  // The knowledge about all copies goes with the row: the new place gets everything from the beginning. Equal names at
  // the new place prove nothing.
  const facts = new Facts(database);
  if (facts.get(REPLICATION, z.string()) !== null) facts.put(REPLICATION, '');
}

function enter(database: Database.Database, backend: string, place: string): void {
  database.prepare('INSERT INTO backend (name, place) VALUES (?, ?)').run(backend, place);
}

/** No configured name has a blank in it. */
function formerName(backend: string, place: string): string {
  return `${backend} at ${place}`;
}
