import type { Catalog } from '../catalog/catalog.ts';
import { numberedName } from '../catalog/evidence-outbox.ts';
import { ArchiveError } from '../core/archive-errors.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Attestation, type AttestationStatement, parseAttestation } from '../verify/attestation.ts';
import type { Signed, Succession } from '../verify/signed-statement.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import type { AskedAttestation, AttestationView } from '../view/attestation-view.ts';
import type { Inventories } from './inventories.ts';

/** The archiver's own key, and the numbers of what it signed. */
export interface StatementSigner {
  readonly publicKey: string;
  readonly keys: readonly Succession[];
  takeNumber(atMs: number): Promise<number>;
  sign<Statement extends object>(statement: Statement): Signed<Statement>;
  rotate(at: string): Promise<void>;
}

/** Folders of statements: of everything, by month; of ranges that were asked for, by range. Below both, a document has its number for a name. */
const OF_EVERYTHING = 'attestations/whole';
const OF_RANGES = 'attestations/ranges';

/**
 * States what is held of what is final, and signs it. The statement is evidence, and goes to every backend. It is made of one
 * moment of the catalog, and not at all while anything of it cannot be told.
 */
export class Attestor implements AttestationView {
  readonly #archiverId: string;
  readonly #signer: StatementSigner;
  readonly #inventories: Pick<Inventories, 'fresh'>;
  readonly #catalog: Pick<Catalog, 'evidence'>;
  readonly #clock: Clock;

  constructor(
    archiverId: string,
    signer: StatementSigner,
    inventories: Pick<Inventories, 'fresh'>,
    catalog: Pick<Catalog, 'evidence'>,
    clock: Clock,
  ) {
    this.#archiverId = archiverId;
    this.#signer = signer;
    this.#inventories = inventories;
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** The month's own, unless there is one. When, its caller says. */
  async attestMonthly(signal: AbortSignal): Promise<void> {
    const month = this.#now().slice(0, 7);
    if (this.attestation({ month, range: null }) === null) await this.attest({ from: null, to: null }, signal);
  }

  /**
   * null: from where the walk began, up to the highest final block.
   * @throws ArchiveError `archive/cannot-attest`, `archive/bad-range`
   */
  async attest(
    { from, to }: { readonly from: number | null; readonly to: number | null },
    signal: AbortSignal,
  ): Promise<Attestation> {
    const [archiverId, signer, catalog] = [this.#archiverId, this.#signer, this.#catalog];
    const at = this.#now();
    const { inventory, unclear } = await this.#count(from, to, signal);
    const number = await signer.takeNumber(this.#clock.wallMs());
    signal.throwIfAborted();
    const statement: AttestationStatement = {
      kind: 'holdfast/attestation',
      format: 1,
      archiver: archiverId,
      key: signer.publicKey,
      number,
      chain: inventory.chain,
      from: inventory.from,
      to: inventory.to,
      blockHash: inventory.blockHash,
      root: inventory.digest,
      counts: inventory.counts,
      unclear,
      at,
    };
    const attestation = { ...signer.sign(statement), keys: signer.keys };
    const isWhole = from === null && to === null;
    const folder = isWhole ? `${OF_EVERYTHING}/${at.slice(0, 7)}` : `${OF_RANGES}/${inventory.from}-${inventory.to}`;
    catalog.evidence.put(`${folder}/${numberedName(number)}`, attestation);
    return attestation;
  }

  /** Statements are signed by another key from now on. */
  async rotateKey(): Promise<void> {
    await this.#signer.rotate(this.#now());
  }

  /** The latest statement of everything, on a line; null: there is none. */
  get summary(): ArchiveStatus['attested'] {
    const last = this.attestation({ month: null, range: null });
    if (last === null) return null;
    const { at, number, from, to, root, counts, key } = last.statement;
    return { at, number, from, to, root, counts, key };
  }

  attestation({ month, range }: AskedAttestation): Attestation | null {
    const folder =
      range !== null
        ? `${OF_RANGES}/${range.from}-${range.to}`
        : `${OF_EVERYTHING}${month === null ? '' : `/${month}`}`;
    const found = this.#catalog.evidence.lastNumbered(folder);
    return found === null ? null : parseAttestation(JSON.stringify(found));
  }

  async #count(from: number | null, to: number | null, signal: AbortSignal) {
    const lookup = await this.#inventories.fresh(from, to, signal);
    if (lookup.kind === 'unavailable') throw cannotAttest(lookup.message, lookup.reason);
    return lookup;
  }

  #now(): string {
    return new Date(this.#clock.wallMs()).toISOString();
  }
}

function cannotAttest(why: string, reason: string): ArchiveError {
  return new ArchiveError('archive/cannot-attest', `Nothing is attested, for not all of it can be told now. ${why}`, {
    details: { reason },
    retryable: true,
    hint: 'Beside the running daemon it can be told as soon as the walk is at the tip; `holdfast status` says how far it is.',
  });
}
