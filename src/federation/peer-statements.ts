import type { Catalog } from '../catalog/catalog.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import {
  type Attestation,
  canonicalJson,
  checkAttestation,
  type Equivocation,
  equivocationOf,
  keysOf,
  parseAttestation,
} from '../verify/attestation.ts';

const FOLDER = 'equivocations';
/** The most archivers whose contradictions are kept as evidence. */
const MAX_EQUIVOCATIONS = 100;

/**
 * Reads what peers attest, and notices when an archiver has signed two statements that contradict each other, whichever
 * peers they came from. Both together are evidence.
 */
export class PeerStatements {
  readonly #catalog: Pick<Catalog, 'evidence' | 'statements'>;
  readonly #conditions: ConditionBoard;
  readonly #clock: Clock;

  constructor(catalog: Pick<Catalog, 'evidence' | 'statements'>, conditions: ConditionBoard, clock: Clock) {
    this.#catalog = catalog;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  /** `given`: what the peer answered to `/v1/attestation`. */
  async see(peer: string, given: unknown): Promise<void> {
    const [catalog, conditions] = [this.#catalog, this.#conditions];
    const subject = `peer:${peer}:statements` as const;
    const attestation = await signedIn(given);
    if (typeof attestation === 'string') {
      conditions.set(subject, {
        code: 'peer/bad-attestation',
        message: `${peer} gave an attestation that is none: ${attestation}`,
        hint: 'Nothing was taken over from it. Tell the operator of that archive, or take it out of HOLDFAST_PEERS.',
        blocksReadiness: false,
      });
      return;
    }
    for (const document of catalog.statements.all()) {
      const other = parseAttestation(document);
      const found = equivocationOf(other, attestation);
      if (found !== null) this.#keep(found, other, attestation);
    }
    catalog.statements.put(canonicalJson(attestation));
    const liar = keysOf(attestation).find((key) => catalog.evidence.find(pathOf(key)) !== null);
    conditions.set(
      subject,
      liar === undefined
        ? null
        : {
            code: 'peer/equivocation',
            message: `The archiver whose statements ${peer} gives signed two that contradict each other. Its key is ${liar}.`,
            hint: `Both lie below audit/ on the backends, in ${pathOf(liar)}; they convince anybody. Trust no other statement of it either.`,
            blocksReadiness: false,
          },
    );
  }

  /** The first that was noticed of an archiver; its later ones say no more. */
  #keep({ kind, says }: Equivocation, one: Attestation, other: Attestation): void {
    const { evidence } = this.#catalog;
    const isKnown = keysOf(other).some((key) => evidence.find(pathOf(key)) !== null);
    if (isKnown || evidence.below(FOLDER, '', MAX_EQUIVOCATIONS).length === MAX_EQUIVOCATIONS) return;
    const noticedAt = new Date(this.#clock.wallMs()).toISOString();
    evidence.put(pathOf(one.statement.key), { format: 1, noticedAt, kind, says, one, other });
  }
}

function pathOf(key: string): string {
  return `${FOLDER}/${key}.json`;
}

/** A text: why it is none. */
async function signedIn(given: unknown): Promise<Attestation | string> {
  try {
    const attestation = parseAttestation(JSON.stringify(given));
    const wrong = (await checkAttestation(attestation, null)).find(({ ok }) => !ok);
    return wrong === undefined ? attestation : wrong.says;
  } catch (error) {
    return messageOf(error);
  }
}
