/** Between the words of an option that is given several times. */
const SEPARATOR = '\n';

/** Parser for commander: appends each word to the earlier ones. */
export function again(value: string, before: unknown): string {
  return typeof before === 'string' ? `${before}${SEPARATOR}${value}` : value;
}

/** The words, in the order in which they were given. */
export function givenWords(given: string | boolean | undefined): string[] {
  return typeof given === 'string' ? given.split(SEPARATOR) : [];
}
