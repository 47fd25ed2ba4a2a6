import type { WalkedOccurrence } from '../catalog/walked-block.ts';
import { clauseOf } from '../core/blob/errors.ts';
import { sendersOf } from '../core/blob/sender.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { ChainNode, SpentScript } from '../node/chain-node.ts';
import type { ProvenBlock } from './read-block.ts';

/** Transactions of one block that the node is asked about. No valid block carries more than 32 blobs. */
const MAX_ASKED = 32;
/** Milliseconds that the walk waits for the senders of one block. */
const PATIENCE_MS = 10_000;
/** Milliseconds without a question after one that the node did not answer. */
const REST_MS = 60_000;
const SUBJECT = 'chain:senders';

/**
 * Learns who sent the blobs of a block: the scripts of the outputs that each transaction spends. The block names these outputs
 * and does not contain them, so their scripts are the node's word. Without its answer the senders are unknown, and the walk
 * goes on.
 */
export class SenderLookup {
  readonly #node: Pick<ChainNode, 'spentScripts'>;
  readonly #conditions: Pick<ConditionBoard, 'set'>;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #restUntilMs = 0;

  constructor(
    node: Pick<ChainNode, 'spentScripts'>,
    conditions: Pick<ConditionBoard, 'set'>,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#node = node;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  /** The occurrences of the block with their senders. Throws the signal's reason, and nothing else. */
  async learn(block: ProvenBlock, signal: AbortSignal): Promise<readonly WalkedOccurrence[]> {
    const spends = block.occurrences.map((occurrence) => ({
      occurrence,
      spent: block.spentBy(occurrence.transactionIndex),
    }));
    // A chain of change within the block needs no question: the block itself holds those outputs.
    const asked = spends.filter(({ spent }) => scriptsIn(spent) === null).slice(0, MAX_ASKED);
    const told = asked.length === 0 ? [] : await this.#ask(block, asked, signal);
    const answers = new Map(asked.map(({ occurrence }, index) => [occurrence, told[index] ?? null]));
    return spends.map(({ occurrence, spent }) => {
      const scripts = scriptsIn(spent) ?? scriptsIn(completed(spent, answers.get(occurrence) ?? null));
      return { ...occurrence, senders: scripts === null ? null : sendersOf(scripts) };
    });
  }

  async #ask(
    { hash, height }: ProvenBlock,
    asked: readonly { readonly occurrence: WalkedOccurrence; readonly spent: readonly SpentScript[] }[],
    signal: AbortSignal,
  ): Promise<readonly (readonly SpentScript[] | null)[]> {
    if (this.#clock.steadyMs() < this.#restUntilMs) return [];
    const txids = asked.map(({ occurrence }) => occurrence.txid);
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
      const told = await this.#node.spentScripts(hash, txids, patience);
      const unknown = asked.filter(({ spent }, index) => scriptsIn(completed(spent, told[index] ?? null)) === null);
      const why = `the node does not tell what ${unknown.length} of its ${asked.length} blob transactions spend`;
      this.#tell(height, unknown.length === 0 ? null : why);
      return told;
    } catch (error) {
      signal.throwIfAborted();
      this.#restUntilMs = this.#clock.steadyMs() + REST_MS;
      this.#tell(height, clauseOf(error));
      return [];
    }
  }

  /** `why` null: the senders of this block are known. */
  #tell(height: number, why: string | null): void {
    this.#conditions.set(
      SUBJECT,
      why === null
        ? null
        : {
            code: 'chain/senders-unknown',
            message: `Senders of blobs in block ${height} are unknown: ${why}. A rule by sender archives them all the same, and a filter by sender passes them only as \`unknown\`.`,
            hint: 'A node that is not pruned, of a release that answers `getrawtransaction` with verbosity 2, tells them. Holdfast asks again with the next blob.',
            blocksReadiness: false,
          },
    );
  }
}

/** null: at least one script is missing. */
function scriptsIn(spent: readonly SpentScript[] | null): readonly string[] | null {
  const scripts = spent?.flatMap(({ script }) => script ?? []) ?? [];
  return spent === null || scripts.length < spent.length ? null : scripts;
}

/** The scripts that the node told, where its answer names the very outputs that the transaction in the block spends. */
function completed(spent: readonly SpentScript[], told: readonly SpentScript[] | null): readonly SpentScript[] | null {
  const isSame = told?.length === spent.length && told.every((one, index) => isSameOutput(one, spent[index]));
  return isSame ? told.map((one, index) => ({ ...one, script: spent[index]?.script ?? one.script })) : null;
}

function isSameOutput({ txid, vout }: SpentScript, other: SpentScript | undefined): boolean {
  return other?.txid === txid && other.vout === vout;
}
