/** Limits of the chain, measured on release 5.1.1 of a public node; the specification leaves them open. */

/** The smallest blob that a node accepts. */
export const MIN_BLOB_BYTES = 1;
/**
 * The largest blob that a node accepts: 2 MiB. The node answers a create call with one byte more by a txid, and then
 * drops the blob.
 */
export const MAX_BLOB_BYTES = 2_097_152;
/** Most blobs in a block. */
export const MAX_BLOBS_PER_BLOCK = 32;
/** Seconds for which a node keeps a blob: until the chain's median time has passed the blob's own by this much. */
export const RETENTION_SECONDS = 21_600;

/**
 * The deadline of a blob: the last median time of the tip at which a node still keeps it. Takes the mediantime of the newest
 * block that has the blob, or of the tip when a list named it. Both are seconds on the chain's clock.
 */
export const deadlineOf = (medianTimeSeconds: number): number => medianTimeSeconds + RETENTION_SECONDS;
