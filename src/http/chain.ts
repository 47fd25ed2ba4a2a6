import { z } from 'zod';
import { HASH_TYPES } from '../core/blob/ids.ts';
import type { ArchiveView } from '../view/archive-view.ts';
import type { ChainView, MinedOccurrence } from '../view/chain-view.ts';
import { IMMUTABLE, jsonAnswer } from './answer.ts';
import { cannotTellAnswer, missingAnswer } from './blob-lookup.ts';
import { BYTES_ANSWERS, bytesAnswer, LOOKUP_PROBLEMS } from './blobs.ts';
import { BLOCK, HASH_TEXT, NAMED_HASH, NOTHING, TRANSACTION } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import type { ProblemCode } from './problem-table.ts';
import { defineRoute, type Route } from './route.ts';

const OCCURRENCE = z.object({
  state: z.enum(['mined', 'final']),
  hashType: z.enum(HASH_TYPES),
  versionHash: HASH_TEXT,
  txid: HASH_TEXT,
  vout: z.int(),
  height: z.int(),
  blockHash: HASH_TEXT,
  medianTimeSeconds: z.int(),
  chainLocked: z.boolean(),
});
const BLOCK_ANSWER = z.object({
  height: z.int(),
  hash: HASH_TEXT,
  previousHash: HASH_TEXT,
  timeSeconds: z.int(),
  medianTimeSeconds: z.int(),
  state: z.enum(['mined', 'final']),
  occurrences: z.array(OCCURRENCE),
});
const PROOF = z.object({
  version: z.int(),
  hashType: z.enum(HASH_TYPES),
  versionHash: HASH_TEXT,
  size: z.int(),
  txid: HASH_TEXT,
  vout: z.int(),
  height: z.int(),
  blockHash: HASH_TEXT,
  header: z.string(),
  transaction: z.string(),
  merkleProof: z.string(),
});

const CHAIN_PROBLEMS: readonly ProblemCode[] = [
  'chain/not-walked',
  'chain/walk-behind',
  'chain/finality-unknown',
  'chain/not-compared',
  'chain/conflict',
  'chain/rebuilding',
];
/** The path of proofs, whose records name no place. */
export const PROOF_PATH = '/v1/blobs/:versionHash/proof';
/** Sixteen records; a raw transaction can be as large as a block, and nearly all have a few hundred bytes. */
const PROOF_WEIGHT_BYTES = 8 * 1_048_576;

/** Routes about the chain, as this archive walked it: transactions, blocks, proofs. */
export function chainRoutes(view: ArchiveView, chain: ChainView): Route[] {
  return [
    defineRoute({
      path: '/v1/transactions/:txid',
      says: 'Where on the chain a transaction is, and what content it commits to.',
      answers: [{ mediaType: 'application/json', schema: OCCURRENCE }],
      problems: ['malformed/txid', 'transaction/absent', ...CHAIN_PROBLEMS],
      parameters: TRANSACTION,
      query: NOTHING,
      async answer({ parameters: { txid }, signal }) {
        const lookup = await chain.transactionAsked(txid, false, signal);
        if (lookup.kind === 'unavailable') return cannotTellAnswer(lookup);
        return lookup.kind === 'found' ? jsonAnswer(occurrenceOnWire(lookup.occurrence)) : noTransaction(txid);
      },
    }),
    defineRoute({
      path: '/v1/transactions/:txid/data',
      says: 'The bytes of the blob that a transaction commits to.',
      answers: BYTES_ANSWERS,
      problems: [
        'malformed/txid',
        'transaction/absent',
        'blob/lost',
        'http/range-not-satisfiable',
        ...CHAIN_PROBLEMS,
        ...LOOKUP_PROBLEMS,
      ],
      parameters: TRANSACTION,
      query: NOTHING,
      async answer(request) {
        const { txid } = request.parameters;
        const lookup = await chain.transactionAsked(txid, false, request.signal);
        if (lookup.kind === 'unavailable') return cannotTellAnswer(lookup);
        if (lookup.kind === 'absent') return noTransaction(txid);
        const { hashType, versionHash } = lookup.occurrence;
        const name = { hashType, versionHash };
        const answer = bytesAnswer(await view.reader.open(name, request), name, request);
        if (answer.headers['cache-control'] !== IMMUTABLE) return answer;
        // The bytes of a transaction never change, but a reorganisation can take the transaction back.
        return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-cache' } };
      },
    }),
    defineRoute({
      path: '/v1/blocks/:at',
      says: 'A block of the branch that is followed, and every commitment in it.',
      answers: [{ mediaType: 'application/json', schema: BLOCK_ANSWER }],
      problems: ['malformed/block-hash', 'block/absent', ...CHAIN_PROBLEMS],
      parameters: BLOCK,
      query: NOTHING,
      async answer({ parameters: { at }, signal }) {
        const lookup = await chain.blockAsked(at, signal);
        if (lookup.kind === 'unavailable') return cannotTellAnswer(lookup);
        if (lookup.kind === 'absent') return problemAnswer('block/absent', `There is no block ${at} on the branch.`);
        const { height, hash, previousHash, timeSeconds, medianTimeSeconds, final, occurrences } = lookup.block;
        const state = final ? 'final' : 'mined';
        const facts = { height, hash, previousHash, timeSeconds, medianTimeSeconds, state };
        return jsonAnswer({ ...facts, occurrences: occurrences.map(occurrenceOnWire) });
      },
    }),
    proofRoute(view, chain),
  ];
}

/** Proofs, wherever they lie. */
export function proofRoute(view: Pick<ArchiveView, 'record'>, chain: Pick<ChainView, 'proofs'>): Route {
  return defineRoute({
    path: PROOF_PATH,
    says: 'Occurrence records of the first final occurrences: header, transaction and Merkle proof, checkable offline.',
    answers: [{ mediaType: 'application/json', schema: z.object({ records: z.array(PROOF) }) }],
    problems: ['chain/not-final', 'chain/store-fault', 'chain/not-walked', 'blob/lost', ...LOOKUP_PROBLEMS],
    parameters: NAMED_HASH,
    query: NOTHING,
    async answer({ parameters, signal, hold }) {
      const name = parameters.versionHash;
      await hold(PROOF_WEIGHT_BYTES);
      const proofs = await chain.proofs(name, signal);
      if (proofs.kind === 'found') return jsonAnswer({ records: proofs.records });
      if (proofs.kind === 'unavailable') return cannotTellAnswer(proofs);
      if (proofs.kind === 'withheld' || proofs.kind === 'not-archived-by-rule')
        return missingAnswer(proofs, name.versionHash);
      const lookup = await view.record(name, signal);
      if (lookup.kind !== 'found') return missingAnswer(lookup, name.versionHash);
      const message = 'Its bytes are not here yet, and a record needs their number.';
      return missingAnswer(
        { kind: 'unavailable', reason: 'not-fetched-yet', message, retryAfterSeconds: 10 },
        name.versionHash,
      );
    },
  });
}

function noTransaction(txid: string) {
  return problemAnswer('transaction/absent', `No block that was walked has a transaction ${txid} with a blob.`);
}

function occurrenceOnWire({ final, ...occurrence }: MinedOccurrence): z.input<typeof OCCURRENCE> {
  const { hashType, versionHash, txid, vout, height, blockHash, medianTimeSeconds, chainLocked } = occurrence;
  const state = final ? 'final' : 'mined';
  return { state, hashType, versionHash, txid, vout, height, blockHash, medianTimeSeconds, chainLocked };
}
