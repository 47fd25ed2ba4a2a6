import { z } from 'zod';
import { type BlockHash, parseBlockHash } from '../core/blob/ids.ts';
import { StorageError } from './errors.ts';
import { BINDING, LAYOUTS, type Layout, type ObjectStore, readText } from './object-store.ts';

const marker = z.object({
  format: z.literal('holdfast'),
  version: z.literal(1),
  layout: z.enum(LAYOUTS),
  chain: z.object({ genesis: z.string().transform((text) => parseBlockHash(text)) }),
});
type Marker = z.infer<typeof marker>;

/** The chain that a store says it belongs to; null: none yet, or the store has no place to say it (IPFS). */
export async function boundChain(store: ObjectStore, signal: AbortSignal): Promise<BlockHash | null> {
  if (!store.properties.holds.has('binding')) return null;
  const text = await readText(store, BINDING, signal);
  if (text === null) return null;
  const { layout, where } = store.properties;
  const found = parseMarker(text, where);
  refuseOtherBinding(found, layout, null, where);
  return found.chain.genesis;
}

/**
 * Binds a store to this chain for good, or sees that it is bound to it. Throws `storage/other-chain` where it is bound to
 * another. A store that has no place to say it is left as it is.
 */
export async function bindTo(store: ObjectStore, genesis: BlockHash, signal: AbortSignal): Promise<void> {
  if (!store.properties.holds.has('binding')) return;
  const { layout, where } = store.properties;
  if ((await readText(store, BINDING, signal)) === null) {
    await store.put({ path: BINDING, text: markerText(layout, genesis) }, 'create', signal);
  }
  // Read again also after writing: of two archivers of two chains that bind at one moment, one must see the other.
  const text = await readText(store, BINDING, signal);
  refuseOtherBinding(parseMarker(text ?? '', where), layout, genesis, where);
}

export function markerText(layout: Layout, genesis: BlockHash): string {
  return `${JSON.stringify({ format: 'holdfast', version: 1, layout, chain: { genesis } }, null, 2)}\n`;
}

function parseMarker(text: string, where: string): Marker {
  try {
    return marker.parse(JSON.parse(text));
  } catch (cause) {
    throw new StorageError(
      'storage/unknown-format',
      `${BINDING} in ${where} does not say what a store of this version says.`,
      {
        details: { where },
        retryable: false,
        hint: 'A newer holdfast may have written it: run that one, or name another bucket or prefix.',
        cause,
      },
    );
  }
}

/** Refuses a backend that is bound to another chain, or written in another layout. */
function refuseOtherBinding(found: Marker, layout: Layout, genesis: BlockHash | null, where: string): void {
  if (genesis !== null && found.chain.genesis !== genesis) {
    throw new StorageError(
      'storage/other-chain',
      `${where} belongs to the chain whose first block is ${found.chain.genesis}; this one begins with ${genesis}.`,
      {
        details: { where, bound: found.chain.genesis, wanted: genesis },
        retryable: false,
        hint: 'Name another bucket or prefix for this chain, or point holdfast at a node of that chain.',
      },
    );
  }
  if (found.layout !== layout) {
    throw new StorageError(
      'storage/other-layout',
      `${where} is written in the ${found.layout} layout, and ${layout} is configured.`,
      {
        details: { where, found: found.layout, configured: layout },
        retryable: false,
        hint: `Set the layout of this backend to ${found.layout}, or name another bucket or prefix.`,
      },
    );
  }
}
