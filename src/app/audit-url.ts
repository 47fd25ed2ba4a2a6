import { randomInt } from 'node:crypto';
import { SourceError } from '../backfill/source/errors.ts';
import { PeerSource } from '../backfill/source/peer-source.ts';
import { parseSource } from '../backfill/source/source-syntax.ts';
import type { HeightRange } from '../core/height-range.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import { proofPath, proofsIn } from '../federation/archive-answers.ts';
import { type ArchiveAudit, type AuditChain, auditArchive, drawOccurrences } from '../federation/audit-archive.ts';
import { createNodeHasher } from '../hashing/index.ts';
import { verifyBlob } from '../verify/verified-blob.ts';

export interface AuditByUrl {
  /** The answer to `/v1/attestation`; null without one. */
  attestation(signal: AbortSignal): Promise<unknown>;
  audit(asked: { readonly range: HeightRange; readonly samples: number }, signal: AbortSignal): Promise<ArchiveAudit>;
  close(): Promise<void>;
}

/** An archive at an address, to be audited against a chain that the caller asks by itself. @throws SourceError `source/bad-syntax` */
export async function openAudit(url: string, chain: AuditChain): Promise<AuditByUrl> {
  const words = parseSource(`peer=${url}`);
  if (words.kind !== 'peer') throw notAnAddress(url);
  const source = new PeerSource(words.url);
  const hasher = await createNodeHasher();
  const archive = {
    async blob(name: Parameters<PeerSource['find']>[0], signal: AbortSignal) {
      const answer = await source.find(name, signal);
      if (answer.kind === 'absent' && answer.byRule === true) return { kind: 'not-archived-by-rule' } as const;
      if (answer.kind !== 'bytes') return { kind: answer.kind };
      const { hashType, versionHash } = name;
      const found = answer.candidates.map((bytes) => verifyBlob({ hashType, versionHash, bytes }, hasher));
      const blob = found.find((one) => one !== null) ?? null;
      return blob === null ? ({ kind: 'wrong-bytes' } as const) : ({ kind: 'bytes', bytes: blob.bytes } as const);
    },
    proofs: async (name: Parameters<PeerSource['find']>[0], signal: AbortSignal) =>
      proofsIn(await source.question(proofPath(name), signal)),
  };
  return {
    attestation: (signal) => source.question('v1/attestation', signal),
    audit: async ({ range, samples }, signal) => {
      const random = (below: number) => randomInt(below);
      const drawn = await drawOccurrences(chain, { range, samples, random }, signal);
      const hashAt = async (height: number) => (await chain.blockAt(height, signal))?.hash ?? null;
      return await auditArchive(drawn, archive, { range, hasher, hashAt, steadyMs: SYSTEM_CLOCK.steadyMs }, signal);
    },
    close: () => source.close(),
  };
}

function notAnAddress(url: string): SourceError {
  return new SourceError('source/bad-syntax', `${JSON.stringify(url)} is not the address of an archive.`, {
    retryable: false,
    hint: 'Give it like https://archive.example.',
  });
}
