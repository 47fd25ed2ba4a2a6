import { Client } from 'undici';
import { onTestFinished } from 'vitest';
import type { BlobLookup } from '../../src/reading/proven-reader.ts';
import { blobOf, bytesOf, FakeArchiveView, hugeBlob } from './fake-archive-view.ts';

/** An archive with one blob of that size. */
export function viewWith(sizeBytes: number) {
  const view = new FakeArchiveView();
  const blob = view.add(blobOf(bytesOf(sizeBytes)));
  return { view, blob, path: `/v1/blobs/${blob.versionHash}` };
}

/** An archive with a blob that no kernel takes for a reader that does not read. */
export function unreadable() {
  const view = new FakeArchiveView();
  const blob = view.add(hugeBlob());
  return { view, blob, path: `/v1/blobs/${blob.versionHash}` };
}

/** A read that begins when asked, and ends when the test says. */
export function heldRead(view: FakeArchiveView) {
  const begun = Promise.withResolvers<AbortSignal>();
  const held = Promise.withResolvers<BlobLookup>();
  view.reading = (_name, signal) => {
    begun.resolve(signal);
    return held.promise;
  };
  return { begun: begun.promise, finish: held.resolve, fail: held.reject };
}

export function undici(url: string): Client {
  const client = new Client(url);
  onTestFinished(() => client.destroy());
  return client;
}
