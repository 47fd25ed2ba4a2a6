import type { Attestation } from '../verify/attestation.ts';

/** Selects a statement; all null: the latest one about everything. */
export interface AskedAttestation {
  /** Like `2026-11`: the latest of everything that was signed in it. */
  readonly month: string | null;
  /** The latest of exactly these heights that was asked for by themselves. */
  readonly range: { readonly from: number; readonly to: number } | null;
}

/** Signed statements of this archive. */
export interface AttestationView {
  /** null: there is none. */
  attestation(asked: AskedAttestation): Attestation | null;
}
