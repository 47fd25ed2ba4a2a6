import type { Catalog } from '../catalog/catalog.ts';
import { isForLater } from '../core/archive-errors.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { Holding } from '../verify/inventory.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import type { PeerComparison } from '../view/archive-view.ts';
import type { InventoryView } from '../view/inventory-view.ts';
import { type ComparedInventory, compareInventories, type DifferentRange } from './compare-inventories.ts';
import { type InventoryOccurrence, occurrencesIn } from './inventory-occurrence.ts';
import type { Peer } from './peer.ts';
import { inventoryAnswer, otherFormat } from './peer-answers.ts';
import { askForOne, auditPeer } from './peer-audit.ts';
import type { PeerStatements } from './peer-statements.ts';

export interface PeerComparerModules {
  readonly peers: readonly Peer[];
  readonly catalog: Catalog;
  readonly inventories: InventoryView;
  readonly statements: PeerStatements;
  readonly hasher: BlobHasher;
  readonly spooler: Pick<Spooler, 'spool'>;
  readonly conditions: ConditionBoard;
  readonly clock: Clock;
}

/** Ranges that one comparison asks for at most; what is left differs the next time as well. */
const MAX_QUESTIONS = 2_000;
/** The number of blobs that a peer says it holds and does not give, which ends the comparison. */
const MAX_NOT_GIVEN = 8;
/** History goes to the backends behind what arrives now: far beyond any median time. */
const AFTER_ALL_SECONDS = 2 ** 40;

type Tally = { -readonly [K in keyof PeerComparison]: PeerComparison[K] };

/**
 * Compares what is held of what is final with each peer that is a Holdfast. Fetches what the peer holds and this archive
 * does not. Bytes count by their hash and occurrences by the chain that was walked here. A peer that lies costs
 * questions, and is told.
 */
export class PeerComparer {
  readonly #modules: PeerComparerModules;
  /** Peers that showed an inventory since the start: without one, nothing is compared with them. */
  readonly #comparable = new WeakSet<Peer>();

  constructor(modules: PeerComparerModules) {
    this.#modules = modules;
  }

  /** When, its caller says. A peer that cannot be compared is told, and keeps no other from it. */
  async run(signal: AbortSignal): Promise<void> {
    for (const peer of this.#modules.peers) {
      const tally = this.#newTally(peer);
      try {
        await this.#visit(peer, tally, signal);
      } catch (error) {
        if (signal.aborted) return;
        peer.compared = tally;
        this.#modules.conditions.set(`peer:${peer.name}:inventory`, {
          code: 'peer/not-compared',
          message: `What ${peer.name} holds could not be compared with what is held here: ${messageOf(error)}`,
          hint: 'It is tried again at HOLDFAST_PEER_SCHEDULE. Look at its address in HOLDFAST_PEERS and at that archive.',
          blocksReadiness: false,
        });
      }
    }
  }

  async #visit(peer: Peer, tally: Tally, signal: AbortSignal): Promise<void> {
    const attestation = await peer.question('v1/attestation', signal);
    if (attestation !== null) await this.#modules.statements.see(peer.name, attestation);
    const theirs = await this.#inventoryOf(peer, '', signal);
    if (theirs !== null) this.#comparable.add(peer);
    else if (!peer.isResting && !this.#comparable.has(peer)) this.#forgetComparison(peer);
    const lookup = await this.#modules.inventories.inventory(null, null, signal);
    // A range that this archive cannot tell of itself now is compared with no peer.
    if (lookup.kind === 'unavailable') return;
    const ours = lookup.inventory;
    if (theirs === null) return await askForOne(peer, ours, this.#modules.catalog, signal);
    const range = { from: Math.max(ours.from, theirs.from), to: Math.min(ours.to, theirs.to) };
    const isShared = theirs.chain === ours.chain && range.from <= range.to;
    if (isShared) tally.extent = await this.#compare(peer, range, tally, signal);
    else tally.extent = 'none';
    if (theirs.chain !== ours.chain) tally.contradiction = 'It is of another chain.';
    if (tally.extent !== 'partial') tally.endedAt = tally.at;
    peer.compared = tally;
    this.#tell(peer, tally);
    if (isShared && tally.contradiction === null) await this.#audit(peer, range, signal);
  }

  /** The peer did not answer before, and has no inventory: no comparison with it failed, and none is overdue. */
  #forgetComparison(peer: Peer): void {
    peer.compared = null;
    this.#modules.conditions.set(`peer:${peer.name}:inventory`, null);
  }

  async #compare(peer: Peer, range: HeightRange, tally: Tally, signal: AbortSignal): Promise<'whole' | 'partial'> {
    tally.from = range.from;
    tally.to = range.to;
    let questions = 0;
    const theirs = async (from: number, to: number): Promise<ComparedInventory> => {
      questions += 1;
      const answer = await this.#inventoryOf(peer, `?from=${from}&to=${to}`, signal);
      if (answer === null) throw new Error(`${peer.name} has an inventory, and none of heights ${from} to ${to}.`);
      return answer;
    };
    const ours = async (from: number, to: number): Promise<ComparedInventory> => {
      const lookup = await this.#modules.inventories.inventory(from, to, signal);
      if (lookup.kind === 'unavailable') throw new Error(`What is held here cannot be told now: ${lookup.message}`);
      return lookup.inventory;
    };
    for await (const difference of compareInventories(range, ours, theirs)) {
      if (difference.kind === 'contradiction')
        tally.contradiction ??= `${difference.says} (Heights ${difference.from} to ${difference.to}.)`;
      else await this.#settle(peer, difference, tally, signal);
      if (questions > MAX_QUESTIONS || tally.notGiven >= MAX_NOT_GIVEN || peer.isResting) return 'partial';
    }
    return 'whole';
  }

  async #settle(peer: Peer, range: DifferentRange, tally: Tally, signal: AbortSignal): Promise<void> {
    tally.onlyHere += range.ours.filter((held, at) => held === 'stored' && isWanting(range.theirs[at])).length;
    const claimed = this.#claimedIn(range);
    tally.onlyThere += claimed.length;
    for (const one of claimed) {
      if (tally.notGiven >= MAX_NOT_GIVEN || peer.isResting) return;
      const answer = await this.#fetch(peer, one, signal);
      if (answer === 'absent') tally.notGiven += 1;
      else if (answer === 'fetched') tally.fetched += 1;
    }
  }

  /** In the order of the chain, as both sides list them; empty where the chain was walked again meanwhile. */
  #claimedIn({ from, to, ours, theirs }: DifferentRange): InventoryOccurrence[] {
    const snapshot = this.#modules.catalog.snapshot();
    try {
      const found: (InventoryOccurrence | null)[] = [];
      for (const step of snapshot.inventory(from, to))
        for (const block of step)
          for (const read of occurrencesIn(block)) {
            const isClaimed = isWanting(ours[found.length]) && theirs[found.length] === 'stored';
            found.push(isClaimed ? read() : null);
          }
      return found.length === ours.length ? found.filter((one) => one !== null) : [];
    } finally {
      snapshot.close();
    }
  }

  async #fetch(
    peer: Peer,
    claimed: InventoryOccurrence,
    signal: AbortSignal,
  ): Promise<'fetched' | 'absent' | 'not-now'> {
    const { catalog, spooler, clock } = this.#modules;
    const { hashType, versionHash, txid, height } = claimed;
    // The blob may have come meanwhile, by another occurrence too, or have been taken down.
    const isHeld = catalog.find(versionHash).some((entry) => entry.hashType === hashType && entry.state !== 'seen');
    if (isHeld || catalog.withheld.has(claimed)) return 'not-now';
    const blob = await peer.claim({ hashType, versionHash }, signal);
    // The inventory of the peer says `stored`: a rule is no reason then.
    if (blob === 'absent' || blob === 'not-archived-by-rule') return 'absent';
    if (blob === null || typeof blob === 'string') return 'not-now';
    try {
      const wanted = catalog.findQueued(versionHash);
      const past = { medianTimeSeconds: null, dueSeconds: AFTER_ALL_SECONDS + height };
      const row = wanted ?? { txid, firstSeenMs: clock.wallMs(), ...past };
      await spooler.spool(blob, { ...row, sizeBytes: blob.bytes.length }, signal);
      catalog.recordGiver({ hashType, versionHash }, peer.name);
      return 'fetched';
    } catch (error) {
      if (!isForLater(error)) throw error;
      return 'not-now';
    } finally {
      forgetBytes(blob);
    }
  }

  /** Whether it also gives what its inventory says: of a few occurrences, drawn from the chain. */
  async #audit(peer: Peer, range: HeightRange, signal: AbortSignal): Promise<void> {
    const { catalog, hasher, clock } = this.#modules;
    const { outcomes, samples } = await auditPeer(peer, range, catalog, hasher, clock, signal);
    const at = new Date(clock.wallMs()).toISOString();
    const before = peer.audited;
    const sum = (outcome: keyof typeof outcomes) => (before?.outcomes[outcome] ?? 0) + outcomes[outcome];
    peer.audited = {
      at,
      samples: (before?.samples ?? 0) + samples,
      outcomes: {
        good: sum('good'),
        absent: sum('absent'),
        withheld: sum('withheld'),
        'not-archived-by-rule': sum('not-archived-by-rule'),
        'wrong-bytes': sum('wrong-bytes'),
        'no-proof': sum('no-proof'),
        'no-answer': sum('no-answer'),
      },
    };
  }

  async #inventoryOf(peer: Peer, query: string, signal: AbortSignal) {
    const answer = await peer.question(`v1/inventory${query}`, signal);
    if (answer === null) return null;
    const other = otherFormat.safeParse(answer);
    if (other.success)
      throw new Error(`${peer.name} answers an inventory of format ${other.data.format}, and this version compares 1.`);
    const found = inventoryAnswer.safeParse(answer);
    if (found.success) return found.data;
    throw new Error(`${peer.name} answers no inventory: ${messageOf(found.error)}`);
  }

  #newTally({ compared }: Peer): Tally {
    const at = new Date(this.#modules.clock.wallMs()).toISOString();
    const counts = { onlyThere: 0, onlyHere: 0, fetched: 0, notGiven: 0 };
    const endedAt = compared?.endedAt ?? at;
    return { at, endedAt, extent: 'partial', from: null, to: null, ...counts, contradiction: null };
  }

  #tell({ name }: Peer, { contradiction, notGiven }: PeerComparison): void {
    const says =
      contradiction !== null
        ? `The inventory of ${name} contradicts the chain that was walked here. ${contradiction}`
        : `${name} said that it holds ${notGiven} blobs, and then that it has not got them.`;
    this.#modules.conditions.set(
      `peer:${name}:inventory`,
      contradiction === null && notGiven === 0
        ? null
        : {
            code: contradiction === null ? 'peer/not-given' : 'peer/contradicts-chain',
            message: says,
            hint: 'Nothing was taken over from it. Tell the operator of that archive, or take it out of HOLDFAST_PEERS.',
            blocksReadiness: false,
          },
    );
  }
}

function isWanting(holding: Holding | undefined): boolean {
  return holding === 'missing' || holding === 'lost';
}
