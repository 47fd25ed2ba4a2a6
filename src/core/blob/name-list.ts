import { type NamedHash, parseNamedHash } from './ids.ts';

/** The names in a text, one a line; what follows a blank is a remark, `#` begins a comment. Throws what is wrong with a name. */
export function namesIn(text: string): NamedHash[] {
  const words = text.split('\n').map((line) => line.trim().split(/\s/, 1)[0] ?? '');
  return words.filter((word) => word !== '' && !word.startsWith('#')).map(parseNamedHash);
}
