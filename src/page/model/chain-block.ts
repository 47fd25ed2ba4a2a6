import type { ArchiveApi } from './archive-api.ts';
import { Fields, UnexpectedAnswer } from './fields.ts';
import { hashOf, hashTypeOf } from './record.ts';

/** One commitment in a block. */
export interface BlockOccurrence {
  readonly versionHash: string;
  readonly hashType: string | null;
  readonly txid: string;
  readonly vout: number;
}

/** The fields of `/v1/blocks/{height or hash}` that the page shows. */
export interface ChainBlock {
  readonly height: number;
  readonly hash: string;
  readonly previousHash: string;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  readonly state: 'mined' | 'final' | 'unknown';
  readonly occurrences: readonly BlockOccurrence[];
}

/**
 * Asks for a block by its height or hash.
 * @throws Refused, UnexpectedAnswer, TypeError
 */
export async function askForBlock(at: string, api: ArchiveApi, signal: AbortSignal): Promise<ChainBlock> {
  const block = Fields.of(await api.json(`v1/blocks/${at}`, { signal }), 'block');
  const [height, hash] = [block.number('height'), hashOf(block.text('hash'))];
  if (/^\d{1,10}$/.test(at) ? height !== Number(at) : hash !== at.toLowerCase()) {
    throw new UnexpectedAnswer(`The archive answered for another block: ${height}, ${hash}.`);
  }
  return {
    height,
    hash,
    previousHash: hashOf(block.text('previousHash')),
    timeSeconds: block.number('timeSeconds'),
    medianTimeSeconds: block.number('medianTimeSeconds'),
    state: block.word('state', ['mined', 'final']),
    occurrences: block.list('occurrences', (value) => {
      const occurrence = Fields.of(value, 'occurrence');
      return {
        versionHash: hashOf(occurrence.text('versionHash')),
        hashType: hashTypeOf(occurrence.text('hashType')),
        txid: hashOf(occurrence.text('txid')),
        vout: occurrence.number('vout'),
      };
    }),
  };
}
