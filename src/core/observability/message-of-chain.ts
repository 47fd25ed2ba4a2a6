/** The message of the deepest cause in one line, without the address, which may contain a token. */
export function messageOfChain(error: unknown, address: string): string {
  let deepest = error;
  while (deepest instanceof Error && deepest.cause instanceof Error) deepest = deepest.cause;
  const message = deepest instanceof Error ? deepest.message : String(deepest);
  return message.replaceAll(address, '***').replace(/\s+/g, ' ').slice(0, 200);
}
