import { LRUCache } from 'lru-cache';
import { CODE, LIMITED, reachableHeap } from './reachable-heap.ts';

/** `<path of a file>`: prints as JSON what pictures of this small process say: the heap of a worker of tests is large. */
const [path = ''] = process.argv.slice(2);

class Tray {
  readonly #slots = Array.from({ length: 100 }, (_, number) => ({ number, pages: new Uint8Array(1_024) }));

  get count(): number {
    return this.#slots.length;
  }
}

class Cellar {
  readonly #tray = new Tray();

  get count(): number {
    return this.#tray.count;
  }
}

class Library {
  readonly #lent = new LRUCache<number, Tray>({ max: 10 });

  lend(): void {
    this.#lent.set(this.#lent.size, new Tray());
  }
}

const owners = ['Tray.#slots', CODE, LIMITED];
function picture(behind: readonly string[]) {
  const held = reachableHeap(path, new Set(behind));
  return Object.fromEntries(owners.map((owner) => [owner, held.get(owner)]));
}

const [tray, cellar, library] = [new Tray(), new Cellar(), new Library()];
const pictures = { world: picture(['Cellar']), everything: picture([]), lent: {} };
for (let number = 0; number < 10; number += 1) library.lend();
pictures.lent = picture([]);
const counts = [tray.count, cellar.count];
process.stdout.write(JSON.stringify({ ...pictures, counts }));
