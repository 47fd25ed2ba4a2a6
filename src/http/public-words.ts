/** Something that the configuration names, and the addresses that messages can give for it. */
export interface NamedPlace {
  /** The name that the public may know: `node-1`, `s3`. */
  readonly name: string;
  /** URLs and other spellings of where it is. */
  readonly addresses: readonly string[];
}

/** A text as the public may read it: places by their names, without addresses, buckets, prefixes or paths. */
export type PublicWords = (text: string) => string;

export const ALL_WORDS: PublicWords = (text) => text;

/** The name of a place that is not configured, such as the other end of a redirect. */
const ELSEWHERE = 'an address';
/**
 * Quotation marks and brackets end an address, in prose and in JSON. A scheme and an IPv6 address begin where a run of their
 * characters does: from within the run, a long text of hex digits would be read once for each of them.
 */
const URLS = /(?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s"'<>()\\]+/gi;
const IP_ADDRESSES = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|(?:\[|(?<![0-9a-f:]))[0-9a-f:]*::[0-9a-f:.]+\]?(?::\d+)?/gi;
/** AWS names the account, the user and the bucket so, in what it says of a refusal. */
const RESOURCE_NAMES = /\barn:[a-z-]+:[^\s"'<>()\\,]+/g;
/** Node names both sides so, where a certificate is another host's. */
const CERTIFIED_NAMES = /\b(Host: |DNS:|CN: )[^\s"'<>()\\,;]+/g;
/** Kubo is a program of Go, which names the other side so where it cannot reach it. */
const DIALLED = /\b(dial (?:tcp|udp)[46]?|dial (?:tcp|udp)[46]?: lookup) [^\s"'<>()\\,;]*[^\s"'<>()\\,;:]/g;
/** Ids of access keys, as Garage and AWS name them in what they refuse. */
const KEY_IDS = /\b(?:GK[0-9a-f]{24}|A[KS]IA[A-Z0-9]{16})\b/g;
const UNRESOLVED = /\b(ENOTFOUND|EAI_AGAIN|EAI_FAIL) [^\s"'<>()\\,;]+/g;

/** Known places get their names; whatever else looks like an address is called one. */
export function publicWords(places: readonly NamedPlace[]): PublicWords {
  const known = places
    .flatMap(({ name, addresses }) =>
      addresses.flatMap(spellingsOf).map((address) => ({ name, address, place: asPlace(address) })),
    )
    // The longest first: an address with its bucket before the address alone.
    .toSorted((a, b) => b.address.length - a.address.length);
  return (text) => {
    let said = text;
    for (const { name, address, place } of known) {
      if (!said.includes(address)) continue;
      // "The s3 store at <address>" has named it already.
      said = said.replaceAll(` store at ${address}`, ' store').replaceAll(` node at ${address}`, ` node ${name}`);
      said = said.replaceAll(place, name);
    }
    return said
      .replace(UNRESOLVED, '$1')
      .replace(KEY_IDS, 'a key')
      .replace(RESOURCE_NAMES, ELSEWHERE)
      .replace(CERTIFIED_NAMES, `$1${ELSEWHERE}`)
      .replace(DIALLED, `$1 ${ELSEWHERE}`)
      .replace(URLS, ELSEWHERE)
      .replace(IP_ADDRESSES, ELSEWHERE);
  };
}

/**
 * The folder `/data` is not the end of `/v1/transactions/…/data`, nor the beginning of `/database`. No other place is the
 * beginning of a longer word either.
 */
function asPlace(address: string): RegExp {
  const literal = address.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`${address.startsWith('/') ? '(?<![\\w./}…])' : ''}${literal}(?![\\w-])`, 'g');
}

/** An address is said whole, and by its host and port alone where a connection fails. */
function spellingsOf(address: string): string[] {
  if (!URL.canParse(address)) return address === '' ? [] : [address];
  const { host, port } = new URL(address);
  const bare = address.replace(/\/+$/, '');
  return host === '' || port === '' ? [bare] : [bare, host];
}

/** The same of every text in a JSON value. */
export function inWords<T>(value: T, words: PublicWords): T;
export function inWords(value: unknown, words: PublicWords): unknown {
  if (typeof value === 'string') return words(value);
  if (Array.isArray(value)) return value.map((one: unknown) => inWords(one, words));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inWords(one, words)]));
}
