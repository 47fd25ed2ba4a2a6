import { messageOf } from '../../src/core/blob/errors.ts';
import type { PeerComparison } from '../../src/view/archive-view.ts';
import type { Life } from './archiver.ts';
import { FIRST_HEIGHT } from './simulated-chain.ts';
import type { PeerHealth, SimulatedPeer } from './simulated-peer.ts';
import { blobPath } from './simulated-store.ts';
import type { Simulation } from './simulation.ts';

/** The archiver compares what it holds with what its peers say that they hold. What it says of them is compared with the truth. */
export class Comparisons {
  readonly #simulation: Simulation;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  async run(): Promise<void> {
    const { life, peers, truth, time } = this.#simulation;
    if (life === null || peers.length === 0) return;
    const begunMs = time.steadyMs;
    const { reorganisations } = truth;
    const earlier = new Map(life.archive.status().peers.map(({ name, compared }) => [name, compared]));
    try {
      await life.archive.comparer.run(life.signal);
    } catch (error) {
      this.#simulation.note(`peers-compared: ${messageOf(error)}`);
    }
    if (life !== this.#simulation.life || life.signal.aborted || truth.reorganisations !== reorganisations) return;
    for (const { name, compared } of life.archive.status().peers) {
      const peer = peers.find((one) => one.name === name);
      // One that changed meanwhile has said both.
      const isSame = peer !== undefined && peer.changedMs < begunMs;
      if (isSame && compared !== null && compared !== earlier.get(name)) this.#compare(life, peer, compared);
    }
  }

  #compare(life: Life, peer: SimulatedPeer, told: PeerComparison): void {
    const { health } = peer;
    this.#simulation.note(`${peer.name}, ${health}: ${told.extent}, ${told.contradiction ?? 'no contradiction'}`);
    // A node that parted leads the archiver to another branch, which the peer does contradict.
    if (!this.#simulation.isOnMain(life)) return;
    if (told.contradiction !== null && !CONTRADICTS[health]) {
      this.#fail(`${peer.name} has the same chain, and is said to contradict it: ${told.contradiction}`);
    }
    if (told.extent !== 'whole' || told.from === null || told.to === null) return;
    const { truth } = this.#simulation;
    const shared = truth.occurrences(Math.max(told.from, FIRST_HEIGHT), told.to);
    if (health === 'parted' && shared.length > 0 && told.contradiction === null) {
      this.#fail(
        `${peer.name} leaves out an occurrence of ${told.from} to ${told.to}, and does not contradict the chain`,
      );
    }
    if (health !== 'well') return;
    if (told.notGiven > 0) this.#fail(`${peer.name} gives everything that it has, and did not give ${told.notGiven}`);
    if (!this.#hasRoom(life)) return;
    for (const name of shared) {
      const { versionHash, hashType } = name;
      if (!peer.has(versionHash) || truth.touched.has(versionHash) || this.#isHarmed(versionHash)) continue;
      const entries = life.catalog.find(versionHash);
      if (entries.some((entry) => entry.hashType === hashType && entry.state !== 'seen')) continue;
      this.#fail(`everything was compared with ${peer.name}, and ${blobPath(name)}, which it holds, is not here`);
    }
  }

  /** A blob that found no room stays where it is. */
  #hasRoom({ plan }: Life): boolean {
    const { disk, configured, time } = this.#simulation;
    const isDiskWell = !disk.isFull && disk.fails === 'never' && disk.refused.length === 0;
    const isTaken = configured.some(
      ({ health, changedMs }) => health === 'well' && time.steadyMs - changedMs > SLACK_MS,
    );
    return isDiskWell && (plan.budgetBytes === null || isTaken);
  }

  #isHarmed(versionHash: string): boolean {
    const { truth, configured } = this.#simulation;
    return (
      truth.harmedFiles.has(versionHash) ||
      configured.some(({ harmed }) => [...harmed.keys()].some((path) => path.endsWith(versionHash)))
    );
  }

  #fail(message: string): void {
    this.#simulation.fail('compared', message);
  }
}

/** A place that is healthy again is let in again within this. */
const SLACK_MS = 2 * 3_600_000;

/** Whether the inventory of such a peer contradicts the chain. */
const CONTRADICTS: Readonly<Record<PeerHealth, boolean>> = {
  ...{ well: false, away: false, empty: false, withholding: false, lying: false },
  parted: true,
};
