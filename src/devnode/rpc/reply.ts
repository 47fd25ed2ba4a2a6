import { WireNumber } from './wire-value.ts';

/** Hex text as bytes, so that megabytes of it never become a JavaScript string. */
export class HexText {
  readonly ascii: Buffer;

  constructor(ascii: Buffer) {
    this.ascii = ascii;
  }
}

/** An answer of the node. `undefined` members are left out. */
export type Reply = null | boolean | number | string | WireNumber | HexText | readonly Reply[] | ReplyObject;
export interface ReplyObject {
  readonly [name: string]: Reply | undefined;
}

const SATS_PER_COIN = 100_000_000n;

/** Formats an amount as the node does, with all of its eight decimals. */
export function amount(sats: bigint, decimals = 8): WireNumber {
  const unit = decimals === 8 ? SATS_PER_COIN : 10n ** BigInt(decimals);
  const magnitude = sats < 0n ? -sats : sats;
  const fraction = decimals === 0 ? '' : `.${String(magnitude % unit).padStart(decimals, '0')}`;
  return new WireNumber(`${sats < 0n ? '-' : ''}${magnitude / unit}${fraction}`);
}

/** The JSON text of a reply in parts: strings, and bytes for hex. */
export class ReplyText {
  readonly #parts: Buffer[] = [];
  #open = '';

  static of(reply: Reply): Buffer[] {
    const text = new ReplyText();
    text.value(reply);
    return text.finish();
  }

  raw(text: string): void {
    this.#open += text;
  }

  value(reply: Reply): void {
    if (reply instanceof HexText) {
      this.raw('"');
      this.#flush();
      this.#parts.push(reply.ascii);
      this.raw('"');
    } else if (reply instanceof WireNumber) this.raw(reply.source);
    else if (reply === null || typeof reply !== 'object') this.raw(JSON.stringify(reply));
    else if (isReplyArray(reply)) this.#array(reply);
    else this.#object(reply);
  }

  finish(): Buffer[] {
    this.#flush();
    return this.#parts;
  }

  #array(items: readonly Reply[]): void {
    this.raw('[');
    for (const [index, item] of items.entries()) {
      if (index > 0) this.raw(',');
      this.value(item);
    }
    this.raw(']');
  }

  #object(members: ReplyObject): void {
    let separator = '{';
    for (const [name, member] of Object.entries(members)) {
      if (member === undefined) continue;
      this.raw(`${separator}${JSON.stringify(name)}:`);
      this.value(member);
      separator = ',';
    }
    this.raw(separator === '{' ? '{}' : '}');
  }

  #flush(): void {
    if (this.#open === '') return;
    this.#parts.push(Buffer.from(this.#open));
    this.#open = '';
  }
}

function isReplyArray(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}
