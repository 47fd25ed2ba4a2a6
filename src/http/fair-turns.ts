/** Begins work of this weight now, or in a later turn of the event loop. */
export type TakeTurn = (weight: number, begin: () => void) => void;

/** The owner of work: a client, and one of its connections. */
export interface Asker {
  readonly client: string;
  readonly connection: object;
}

interface Work {
  readonly weight: number;
  readonly begin: () => void;
}

/** The work of one client. */
interface Lane {
  /** Work that it may still begin before others have their share. Below zero it had more, and lets others go first. */
  credit: number;
  /** The lanes of its connections, the one that was served least lately first. */
  readonly waiting: Map<object, Work[]>;
}

/** Lanes of one kind, the one whose turn it is first. */
interface Circle {
  readonly lanes: Map<string, Lane>;
  /** Pieces of work in all of them. */
  waiting: number;
  /** Work that was begun in this turn. */
  begun: number;
}

/** A client with more connections that wait than this is crowded. */
const FEW = 4;

/**
 * Shares out every turn of the event loop, which is all that this process has: first among the clients that want something,
 * by weight, then among the connections of each. A client that asks alone has all of it. What does not fit into a turn
 * waits for the next ones. Clients with few connections that wait have half of every turn before the crowded ones: who reads
 * one answer after the other does not wait behind hundreds.
 */
export class FairTurns {
  readonly #weightPerTurn: number;
  readonly #share: number;
  readonly #few: Circle = { lanes: new Map(), waiting: 0, begun: 0 };
  readonly #crowded: Circle = { lanes: new Map(), waiting: 0, begun: 0 };
  #isTurnSet = false;

  /** `share`: how much a client has before the next one. */
  constructor(weightPerTurn: number, share: number) {
    this.#weightPerTurn = weightPerTurn;
    this.#share = share;
  }

  take({ client, connection }: Asker, weight: number, begin: () => void): void {
    this.#setTurn();
    const work = { weight, begin };
    const crowd = this.#crowded.lanes.get(client);
    const lane = crowd ?? this.#few.lanes.get(client) ?? { credit: this.#share, waiting: new Map() };
    if (crowd === undefined) this.#few.lanes.set(client, lane);
    if (this.#hasRoom(crowd === undefined)) {
      run(work, lane, this.#few);
      return;
    }
    const works = lane.waiting.get(connection) ?? [];
    works.push(work);
    lane.waiting.set(connection, works);
    (crowd === undefined ? this.#few : this.#crowded).waiting += 1;
    if (crowd === undefined && lane.waiting.size > FEW) move(client, lane, this.#few, this.#crowded);
  }

  get #begun(): number {
    return this.#few.begun + this.#crowded.begun;
  }

  /** Reports whether work may begin before that which waits. */
  #hasRoom(isOfFew: boolean): boolean {
    if (!isOfFew || this.#few.waiting > 0) return false;
    if (this.#crowded.waiting === 0) return this.#begun < this.#weightPerTurn;
    return this.#few.begun < this.#weightPerTurn / 2;
  }

  #setTurn(): void {
    if (this.#isTurnSet) return;
    this.#isTurnSet = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    const [few, crowded] = [this.#few, this.#crowded];
    this.#isTurnSet = false;
    few.begun = 0;
    crowded.begun = 0;
    if (few.waiting + crowded.waiting > 0) this.#setTurn();
    while (few.waiting > 0 && few.begun < this.#weightPerTurn / 2) this.#serveNext(few);
    while (crowded.waiting > 0 && this.#begun < this.#weightPerTurn) this.#serveNext(crowded);
    while (few.waiting > 0 && this.#begun < this.#weightPerTurn) this.#serveNext(few);
    // A client's surplus counts only while others of its circle wait.
    if (few.waiting === 0) few.lanes.clear();
  }

  /** The client whose turn it is has one piece of work begun, or goes behind the others. */
  #serveNext(circle: Circle): void {
    const [next] = circle.lanes;
    if (next === undefined) return;
    const [client, lane] = next;
    const work = lane.credit > 0 ? takeFrom(lane) : null;
    if (work !== null) {
      circle.waiting -= 1;
      if (circle === this.#crowded && lane.waiting.size <= FEW) move(client, lane, this.#crowded, this.#few);
      run(work, lane, circle);
      return;
    }
    circle.lanes.delete(client);
    if (lane.waiting.size === 0 && lane.credit > 0) return;
    lane.credit += this.#share;
    circle.lanes.set(client, lane);
  }
}

function run({ weight, begin }: Work, lane: Lane, circle: Circle): void {
  lane.credit -= weight;
  circle.begun += weight;
  begin();
}

function takeFrom({ waiting }: Lane): Work | null {
  const [next] = waiting;
  if (next === undefined) return null;
  const [connection, works] = next;
  const work = works.shift() ?? null;
  waiting.delete(connection);
  if (works.length > 0) waiting.set(connection, works);
  return work;
}

function move(client: string, lane: Lane, from: Circle, to: Circle): void {
  const works = [...lane.waiting.values()].reduce((sum, { length }) => sum + length, 0);
  from.waiting -= works;
  to.waiting += works;
  from.lanes.delete(client);
  to.lanes.set(client, lane);
}
