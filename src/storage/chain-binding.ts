import { z } from 'zod';
import { type BlockHash, parseBlockHash } from '../core/blob/ids.ts';
import { StorageError } from './errors.ts';

export const LAYOUTS = ['holdfast', 'sentinel'] as const;
/** How blobs are named and written: raw bytes under a template, or Sentinel's hex text under the bare version hash. */
export type Layout = (typeof LAYOUTS)[number];

/** A backend that belongs to one chain for good, as `holdfast.json` at its root says. */
export interface ChainBinding {
  /** null: not bound yet. */
  boundChain(signal: AbortSignal): Promise<BlockHash | null>;
  /** Binds it, or sees that it is bound to this chain. Throws `storage/other-chain` where it is bound to another. */
  bindTo(genesis: BlockHash, signal: AbortSignal): Promise<void>;
}

export const MARKER = 'holdfast.json';

const marker = z.object({
  format: z.literal('holdfast'),
  version: z.literal(1),
  layout: z.enum(LAYOUTS),
  chain: z.object({ genesis: z.string().transform((text) => parseBlockHash(text)) }),
});
export type Marker = z.infer<typeof marker>;

export function markerText(layout: Layout, genesis: BlockHash): string {
  return `${JSON.stringify({ format: 'holdfast', version: 1, layout, chain: { genesis } }, null, 2)}\n`;
}

export function parseMarker(text: string, where: string): Marker {
  try {
    return marker.parse(JSON.parse(text));
  } catch (cause) {
    throw new StorageError(
      'storage/unknown-format',
      `${MARKER} in ${where} does not say what a store of this version says.`,
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
export function refuseOtherBinding(found: Marker, layout: Layout, genesis: BlockHash | null, where: string): void {
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
