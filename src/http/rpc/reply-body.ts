import { type AnswerBody, type AnswerParts, bodyOf } from '../answer.ts';
import { type HexPart, hexBody } from '../hex-body.ts';

/** JSON text, or bytes that become hex in it. */
export type ReplyPart = HexPart;

export function replyBody(parts: readonly ReplyPart[]): AnswerBody | AnswerParts {
  const texts = parts.filter((part) => typeof part === 'string');
  return texts.length === parts.length ? bodyOf(Buffer.from(texts.join(''))) : hexBody(parts);
}
