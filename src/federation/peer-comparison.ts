import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { PeerComparison } from '../view/archive-view.ts';
import type { InventoryView } from '../view/inventory-view.ts';
import { type ComparedInventory, compareInventories } from './compare-inventories.ts';
import type { ComparisonTally, Peer } from './peer.ts';
import { inventoryAnswer, otherFormat } from './peer-answers.ts';
import type { PeerAudit } from './peer-audit.ts';
import { MAX_NOT_GIVEN, type PeerClaims } from './peer-claims.ts';
import type { PeerStatements } from './peer-statements.ts';

export interface PeerComparerModules {
  readonly peers: readonly Peer[];
  readonly inventories: InventoryView;
  readonly statements: PeerStatements;
  readonly claims: PeerClaims;
  readonly audit: PeerAudit;
  readonly conditions: ConditionBoard;
}

/** Ranges that one comparison asks for at most; what is left differs the next time as well. */
const MAX_QUESTIONS = 2_000;

/**
 * The peer gave wrong bytes to another caller meanwhile, and is asked for nothing now. The former comparison stands, as
 * for a peer that is left alone before it.
 */
class LeftAlone extends Error {}

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
      const tally = peer.newComparison();
      try {
        await this.#visit(peer, tally, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof LeftAlone) continue;
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

  async #visit(peer: Peer, tally: ComparisonTally, signal: AbortSignal): Promise<void> {
    const attestation = await peer.question('v1/attestation', signal);
    if (attestation !== null) await this.#modules.statements.see(peer.name, attestation);
    const theirs = await this.#inventoryOf(peer, '', signal);
    if (theirs !== null) this.#comparable.add(peer);
    else if (!peer.isResting && !this.#comparable.has(peer)) this.#forgetComparison(peer);
    const lookup = await this.#modules.inventories.inventory(null, null, signal);
    // A range that this archive cannot tell of itself now is compared with no peer.
    if (lookup.kind === 'unavailable') return;
    const ours = lookup.inventory;
    if (theirs === null) return await this.#modules.audit.askForOne(peer, ours, signal);
    const range = { from: Math.max(ours.from, theirs.from), to: Math.min(ours.to, theirs.to) };
    const isShared = theirs.chain === ours.chain && range.from <= range.to;
    if (isShared) tally.extent = await this.#compare(peer, range, tally, signal);
    else tally.extent = 'none';
    if (theirs.chain !== ours.chain) tally.contradiction = 'It is of another chain.';
    if (tally.extent !== 'partial') tally.endedAt = tally.at;
    peer.compared = tally;
    this.#tell(peer, tally);
    if (isShared && tally.contradiction === null) await this.#modules.audit.run(peer, range, signal);
  }

  /** The peer did not answer before, and has no inventory: no comparison with it failed, and none is overdue. */
  #forgetComparison(peer: Peer): void {
    peer.compared = null;
    this.#modules.conditions.set(`peer:${peer.name}:inventory`, null);
  }

  async #compare(
    peer: Peer,
    range: HeightRange,
    tally: ComparisonTally,
    signal: AbortSignal,
  ): Promise<'whole' | 'partial'> {
    tally.from = range.from;
    tally.to = range.to;
    let questions = 0;
    const theirs = async (from: number, to: number): Promise<ComparedInventory> => {
      questions += 1;
      const answer = await this.#inventoryOf(peer, `?from=${from}&to=${to}`, signal);
      if (answer === null && peer.isResting) throw new LeftAlone();
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
      else await this.#modules.claims.settle(peer, difference, tally, signal);
      if (questions > MAX_QUESTIONS || tally.notGiven >= MAX_NOT_GIVEN || peer.isResting) return 'partial';
    }
    return 'whole';
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
