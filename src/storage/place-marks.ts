/** Marks that tell two addresses of one place from two places: 32 hexadecimal digits, for as long as it takes to look. */
export interface PlaceMarks {
  leave(mark: string, signal: AbortSignal): Promise<void>;
  has(mark: string, signal: AbortSignal): Promise<boolean>;
  remove(mark: string, signal: AbortSignal): Promise<void>;
}
