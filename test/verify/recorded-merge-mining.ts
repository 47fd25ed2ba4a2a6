import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Recording = z.object({
  blocks: z.array(
    z.object({
      label: z.string(),
      height: z.int(),
      header: z.string(),
      block: z.string(),
      'header decoded': z.object({ hash: z.string(), previousblockhash: z.string(), bits: z.string() }),
      blob: z.object({ txid: z.string(), versionhash: z.string(), datasize: z.int(), data: z.string() }).optional(),
      proof: z.string().optional(),
    }),
  ),
});

const file = new URL('../vectors/auxpow-5.1.json', import.meta.url);

/**
 * Origin: four merge-mined blocks that a node of release 5.1.1 accepted in regtest, at the heights 121 to 124: a plain
 * coinbase, one with a witness, one in a parent block with three siblings, one whose block carries a blob.
 */
export const mergedBlocks = Recording.parse(JSON.parse(readFileSync(file, 'utf8'))).blocks.map((block) => ({
  ...block,
  hash: block['header decoded'].hash,
  previousHash: block['header decoded'].previousblockhash,
}));
