/** Limits of the chain, measured on release 5.1.1 of a public node (the specification leaves them open). */

/** The smallest blob that a node accepts. */
export const MIN_BLOB_BYTES = 1;
/** The largest blob that a node accepts: 2 MiB. A create call with one byte more answers a txid and is then dropped. */
export const MAX_BLOB_BYTES = 2_097_152;
/** Blobs a block can carry. */
export const MAX_BLOBS_PER_BLOCK = 32;
/** A blob stays in the node's cache until the chain's median time has passed its own by this much. */
export const RETENTION_SECONDS = 21_600;
