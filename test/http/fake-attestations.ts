import { parseBlockHash } from '../../src/core/blob/ids.ts';
import type { Attestation } from '../../src/verify/attestation.ts';
import type { AskedAttestation, AttestationView } from '../../src/view/attestation-view.ts';

const HASH = parseBlockHash('cd'.repeat(32));
const SIGNATURE = 'ef'.repeat(64);

/** One for everything, unless a test takes it away. */
export class FakeAttestations implements AttestationView {
  isThere = true;
  readonly asked: AskedAttestation[] = [];

  attestation(asked: AskedAttestation): Attestation | null {
    this.asked.push(asked);
    if (!this.isThere) return null;
    const at = '2026-11-01T02:11:00.000Z';
    return {
      statement: {
        kind: 'holdfast/attestation',
        format: 1,
        archiver: 'ab'.repeat(8),
        key: HASH,
        number: 3,
        chain: HASH,
        from: 1,
        to: 9,
        blockHash: HASH,
        root: HASH,
        counts: { missing: 0, stored: 2, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
        unclear: 0,
        at,
      },
      signature: SIGNATURE,
      keys: [
        {
          statement: { kind: 'holdfast/key', format: 1, key: HASH, next: HASH, at },
          signature: SIGNATURE,
          accepted: SIGNATURE,
        },
      ],
    };
  }
}
