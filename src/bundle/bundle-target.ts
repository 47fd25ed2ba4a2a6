/** A file or an object in which a bundle may be written. */
export interface BundlePlace {
  /** For messages. */
  readonly path: string;
  /** @param sizeBytes size of the whole bundle */
  begin(sizeBytes: number): Promise<BundleTarget>;
  /** Written bytes stay for another run. */
  close(): Promise<void>;
}

/** A bundle while it is written. It stands under its own name once `finish` has resolved, whole and durable, and not before. */
export interface BundleTarget {
  /** Bytes that an interruption leaves to the next run. */
  readonly sizeBytes: number;
  /** Bytes of an earlier run that were found to be right. */
  readonly keptBytes: number;
  /** Reports whether an earlier run left the next so many bytes, and they are right. If so they need no `write`. */
  passesOver(length: number, isRight: (bytes: Uint8Array) => boolean): Promise<boolean>;
  /** The bytes must not change before the next `write` or `finish` has resolved. */
  write(...chunks: readonly Uint8Array[]): Promise<void>;
  finish(): Promise<void>;
}
