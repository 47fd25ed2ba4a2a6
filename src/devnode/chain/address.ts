/** Addresses and descriptors as the node shows them: BIP 173/350 (bech32, bech32m) and the descriptor checksum. */

const BECH32_ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const BECH32_GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3] as const;
const BECH32_CONSTANT = 1;
const BECH32M_CONSTANT = 0x2bc830a3;
/** Human-readable part of regtest addresses. */
const ADDRESS_PREFIX = 'bcrt';

export function segwitAddress(version: number, program: Uint8Array): string {
  const data = [version, ...toFiveBits(program)];
  const prefix = [...ADDRESS_PREFIX].map((character) => character.charCodeAt(0));
  const values = [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31), ...data];
  const constant = version === 0 ? BECH32_CONSTANT : BECH32M_CONSTANT;
  const check = bech32Polymod([...values, 0, 0, 0, 0, 0, 0]) ^ constant;
  const checksum = [0, 1, 2, 3, 4, 5].map((index) => (check >> (5 * (5 - index))) & 31);
  return `${ADDRESS_PREFIX}1${[...data, ...checksum].map((value) => BECH32_ALPHABET.charAt(value)).join('')}`;
}

function toFiveBits(bytes: Uint8Array): number[] {
  const groups: number[] = [];
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      groups.push((held >> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  if (bits > 0) groups.push((held << (5 - bits)) & 31);
  return groups;
}

function bech32Polymod(values: readonly number[]): number {
  let check = 1;
  for (const value of values) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ value;
    for (const [index, generator] of BECH32_GENERATOR.entries()) if ((top >> index) & 1) check ^= generator;
  }
  return check >>> 0;
}

const DESCRIPTOR_ALPHABET =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
const DESCRIPTOR_GENERATOR = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn] as const;

/** A descriptor with its eight characters of checksum. */
export function withChecksum(descriptor: string): string {
  let check = 1n;
  let group = 0;
  let inGroup = 0;
  for (const character of descriptor) {
    const position = DESCRIPTOR_ALPHABET.indexOf(character);
    check = descriptorPolymod(check, position & 31);
    group = group * 3 + (position >> 5);
    inGroup += 1;
    if (inGroup === 3) {
      check = descriptorPolymod(check, group);
      group = 0;
      inGroup = 0;
    }
  }
  if (inGroup > 0) check = descriptorPolymod(check, group);
  for (let index = 0; index < 8; index++) check = descriptorPolymod(check, 0);
  check ^= 1n;
  let text = '';
  for (let index = 0; index < 8; index++) {
    text += BECH32_ALPHABET.charAt(Number((check >> BigInt(5 * (7 - index))) & 31n));
  }
  return `${descriptor}#${text}`;
}

function descriptorPolymod(check: bigint, value: number): bigint {
  const top = check >> 35n;
  let next = ((check & 0x7ffffffffn) << 5n) ^ BigInt(value);
  for (const [index, generator] of DESCRIPTOR_GENERATOR.entries()) if ((top >> BigInt(index)) & 1n) next ^= generator;
  return next;
}
