import { encodeHexInto } from '../core/blob/hex.ts';
import type { ProvenFile } from '../view/archive-view.ts';
import type { AnswerParts } from './answer.ts';
import { type Pace, SMALL_PART_BYTES } from './pace.ts';
import { PartsStream } from './parts-stream.ts';

export interface BodySpan {
  readonly first: number;
  readonly lengthBytes: number;
  /** Hex text: twice as many characters. */
  readonly asHex: boolean;
}

/** Reads a proven file while its reader takes it. What changes meanwhile ends the answer short, and says so by that. */
export function fileBody(file: ProvenFile, { first, lengthBytes, asHex }: BodySpan): AnswerParts {
  const end = first + lengthBytes;
  const sentPerByte = asHex ? 2 : 1;
  let at = first;
  let begun: Buffer | null = null;
  /** null: its file is closed. Hex text is twice as long, and is what waits for the reader. */
  const readPart = async (pace: Pace, isOver: () => boolean): Promise<Buffer | null> => {
    const sentBytes = await pace.part(sentPerByte * (end - at));
    if (isOver()) return null;
    const part = pace.memory.take(sentBytes / sentPerByte);
    await file.read(part, at);
    at += part.length;
    return asHex ? hexOf(part, pace) : part;
  };
  return {
    lengthBytes: sentPerByte * lengthBytes,
    heldBytes: SMALL_PART_BYTES,
    drop: () => file.close(),
    async begin(pace) {
      try {
        begun = await readPart(pace, () => false);
      } catch (error) {
        file.close();
        throw error;
      }
    },
    stream(pace) {
      const next = async (isOver: () => boolean) => {
        const part = begun;
        begun = null;
        if (part !== null) return part;
        return at < end ? await readPart(pace, isOver) : null;
      };
      return new PartsStream(pace, next, () => file.close());
    },
  };
}

function hexOf(bytes: Buffer, { memory }: Pace): Buffer {
  const text = memory.take(bytes.length * 2);
  encodeHexInto(bytes, text);
  memory.giveBack(bytes);
  return text;
}
