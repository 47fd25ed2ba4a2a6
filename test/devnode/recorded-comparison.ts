/**
 * Rule that compares an answer of the emulated node with a recorded one:
 *
 * - The shape is equal: members, their order, types, lengths of lists and of hex strings.
 * - Hashes of transactions, blocks and Merkle roots differ, because keys and coins differ; so do bare results that are
 * such hashes. The first pair of each is learned. From then on the pair must hold in answers, and reversed in requests.
 * - Keys, signatures, scripts and addresses, and hex that contains them, have the recorded length and kind.
 * - Everything else is equal, digit by digit; numbers are compared as text.
 */
export class RecordedComparison {
  readonly #ours = new Map<string, string>();
  readonly #recorded = new Map<string, string>();
  #ignored: ReadonlySet<string> = new Set();

  /** Teaches a pair that no answer contains. */
  learn(recorded: string, ours: string): void {
    this.#ours.set(recorded, ours);
    this.#recorded.set(ours, recorded);
  }

  /** Translates a recorded request to the hashes of the emulated chain. */
  translate(text: string): string {
    return text.replace(/[0-9a-f]{64,}/g, (hex) => this.#ours.get(hex) ?? hex);
  }

  /** Lists the differences, one line each. Members named in `ignored` must only exist. */
  differences(recordedText: string, oursText: string, ignored: ReadonlySet<string> = new Set()): string[] {
    const found: string[] = [];
    this.#ignored = ignored;
    this.#compare(parseLossless(recordedText), parseLossless(oursText), '$', found);
    return found;
  }

  #compare(recorded: Lossless, ours: Lossless, path: string, found: string[]): void {
    if (Array.isArray(recorded) && Array.isArray(ours)) {
      if (recorded.length !== ours.length) found.push(`${path}: ${recorded.length} entries, ours ${ours.length}`);
      for (const [index, item] of recorded.entries()) {
        this.#compare(item, ours[index] ?? null, `${path}[${index}]`, found);
      }
    } else if (isObject(recorded) && isObject(ours)) {
      const names = Object.keys(recorded).join();
      if (names !== Object.keys(ours).join()) found.push(`${path}: members ${names}, ours ${Object.keys(ours).join()}`);
      for (const [name, value] of Object.entries(recorded)) {
        if (this.#ignored.has(name)) continue;
        this.#compare(value, ours[name] ?? null, `${path}.${name}`, found);
      }
    } else if (typeof recorded === 'string' && typeof ours === 'string') this.#text(recorded, ours, path, found);
    else if (recorded !== ours) found.push(`${path}: ${show(recorded)}, ours ${show(ours)}`);
  }

  #text(recorded: string, ours: string, path: string, found: string[]): void {
    const name = /\w+$/.exec(path)?.[0] ?? '';
    if (this.translate(recorded) === ours) return;
    const bareHex = /^[0-9a-f]{64,}$/.test(recorded) && MAY_BE_HASH.test(path) && ours.length === recorded.length;
    if (LEARNED.has(name) || bareHex) {
      const known = this.#ours.get(recorded) ?? this.#recorded.get(ours);
      if (known === undefined) this.learn(recorded, ours);
      else if (this.#ours.get(recorded) !== ours) found.push(`${path}: ${recorded} is ${known} here, not ${ours}`);
    } else if (kindOf(name, path, recorded) !== kindOf(name, path, ours)) {
      found.push(`${path}: ${show(recorded)}, ours ${show(this.#back(ours))}`);
    }
  }

  #back(text: string): string {
    return text.replace(/[0-9a-f]{64}/g, (hex) => this.#recorded.get(hex) ?? hex);
  }
}

const LEARNED = new Set([
  'txid',
  'hash',
  'blockhash',
  'bestblockhash',
  'merkleroot',
  'previousblockhash',
  'nextblockhash',
]);
/** Paths of bare hashes: results that are one, and lists of transactions. */
const MAY_BE_HASH = /^\$\.result(\.tx)?(\[\d+\])?$/;

/** The part of a value with keys, coins or hashes that must be equal. */
function kindOf(name: string, path: string, text: string): string {
  const carriesKeys = /^(hex|asm|desc|address)$/.test(name) || /txinwitness\[\d+\]$/.test(path);
  if (!carriesKeys) return text;
  if (name === 'address') return `${text.slice(0, 6)} and ${text.length - 6} more`;
  const kept = text.replace(/#\w{8}$/, '#<checksum>').replace(/bcrt1\w+/g, '<address>');
  return kept.replace(/[0-9a-f]{40,}/g, (hex) => `<${hex.length} hex>`);
}

type Lossless = null | boolean | string | Digits | Lossless[] | { [name: string]: Lossless };
type Digits = `number ${string}`;

function parseLossless(text: string): Lossless {
  return JSON.parse(text, (...[, value, context]: unknown[]) => {
    const source = typeof context === 'object' && context !== null && 'source' in context ? context.source : null;
    return typeof value === 'number' ? `number ${source}` : value;
  });
}

function isObject(value: Lossless): value is { [name: string]: Lossless } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: Lossless): string {
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}… (${text.length})` : text;
}
