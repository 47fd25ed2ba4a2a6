import { setFlagsFromString } from 'node:v8';

/** The first Node whose V8 knows the flag; an older one would complain on standard error. */
const FIRST_MAJOR = 26;
/** A container of less memory keeps V8's own way: with the flag a drain peaks at some 290 MiB, without at 260. */
const MIN_BYTES = 402_653_184;

/**
 * Has V8 weigh the memory outside of its heap (network chunks, blobs on their way) with the heap's own. By itself it
 * collects all garbage for each few MiB of it: 205 collections instead of 27 for 768 blobs of 2 MiB to S3 and back, a
 * third of the processor time of all that (measured: test/bench). Not among `NODE_FLAGS`, which the image hands on by
 * NODE_OPTIONS: there Node does not allow it.
 */
export function weighOutsideMemory(constrainedBytes = process.constrainedMemory()): boolean {
  const [major = '0'] = process.versions.node.split('.');
  // 0: no bound is known.
  if (Number(major) < FIRST_MAJOR || (constrainedBytes > 0 && constrainedBytes < MIN_BYTES)) return false;
  setFlagsFromString('--external-memory-accounted-in-global-limit');
  return true;
}
