/** Begins work of this weight now, or in a later turn of the event loop. */
export type TakeTurn = (weight: number, begin: () => void) => void;

/** Who wants work done: a client, and one of its connections. */
export interface Asker {
  readonly client: string;
  readonly connection: object;
}

interface Work {
  readonly weight: number;
  readonly begin: () => void;
}

/** What a client wants done. */
interface Lane {
  /** What it may still have begun before others have their share. Below zero it had more, and lets others go first. */
  credit: number;
  /** By connection, the one that was served least lately first. */
  readonly waiting: Map<object, Work[]>;
}

/**
 * Shares out every turn of the event loop, which is all that this process has: first among the clients that want something,
 * by weight, then among the connections of each. Whoever wants something alone has all of it. What does not fit into a turn
 * waits for the next ones; a client that had nothing of this turn is begun at once, as far as another turn's weight.
 */
export class FairTurns {
  readonly #weightPerTurn: number;
  readonly #share: number;
  readonly #lanes = new Map<string, Lane>();
  #begun = 0;
  #waiting = 0;
  #isTurnSet = false;

  /** `share`: how much a client has before the next one. */
  constructor(weightPerTurn: number, share: number) {
    this.#weightPerTurn = weightPerTurn;
    this.#share = share;
  }

  take({ client, connection }: Asker, weight: number, begin: () => void): void {
    this.#setTurn();
    const known = this.#lanes.get(client);
    const lane = known ?? { credit: this.#share, waiting: new Map<object, Work[]>() };
    this.#lanes.set(client, lane);
    const isFirst = known === undefined && this.#begun < 2 * this.#weightPerTurn;
    if (isFirst || (this.#waiting === 0 && this.#begun < this.#weightPerTurn)) {
      this.#begin(lane, { weight, begin });
      return;
    }
    const works = lane.waiting.get(connection) ?? [];
    works.push({ weight, begin });
    lane.waiting.set(connection, works);
    this.#waiting += 1;
  }

  #begin(lane: Lane, { weight, begin }: Work): void {
    lane.credit -= weight;
    this.#begun += weight;
    begin();
  }

  #setTurn(): void {
    if (this.#isTurnSet) return;
    this.#isTurnSet = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isTurnSet = false;
    this.#begun = 0;
    if (this.#waiting > 0) this.#setTurn();
    while (this.#waiting > 0 && this.#begun < this.#weightPerTurn) this.#serveNext();
    // What a client had more than others counts only while others wait.
    if (this.#waiting === 0) this.#lanes.clear();
  }

  /** The client whose turn it is has one piece of work begun, or goes behind the others. */
  #serveNext(): void {
    const [next] = this.#lanes;
    if (next === undefined) return;
    const [client, lane] = next;
    const work = lane.credit > 0 ? this.#takeFrom(lane) : null;
    if (work !== null) {
      this.#begin(lane, work);
      return;
    }
    this.#lanes.delete(client);
    if (lane.waiting.size === 0 && lane.credit > 0) return;
    lane.credit += this.#share;
    this.#lanes.set(client, lane);
  }

  #takeFrom({ waiting }: Lane): Work | null {
    const [next] = waiting;
    if (next === undefined) return null;
    const [connection, works] = next;
    const work = works.shift();
    waiting.delete(connection);
    if (works.length > 0) waiting.set(connection, works);
    if (work === undefined) return null;
    this.#waiting -= 1;
    return work;
  }
}
